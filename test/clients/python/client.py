"""Drives a broker with confluent-kafka-python. Usage: python client.py HOST:PORT PREFIX

Prints `ok NAME` or `not ok NAME: reason` per case; topics and groups carry PREFIX.
"""

import sys
import time
import traceback

from confluent_kafka import OFFSET_BEGINNING, Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewPartitions, NewTopic, OffsetSpec

BOOTSTRAP, PREFIX = sys.argv[1:]
COMMON = {"bootstrap.servers": BOOTSTRAP}
PATIENCE = 60  # seconds for anything that must happen
admin = AdminClient(COMMON)


def create_topic(name, partitions=1, config=None):
    topic = f"{PREFIX}-{name}"
    admin.create_topics([NewTopic(topic, partitions, 1, config=config or {})])[topic].result(PATIENCE)
    deadline = time.monotonic() + PATIENCE
    while len(getattr(admin.list_topics(timeout=PATIENCE).topics.get(topic), "partitions", {})) != partitions:
        assert time.monotonic() < deadline, f"{topic} does not appear"
    return topic


def produce(topic, records, **config):
    """Produces (key, value, headers) and returns the acknowledged (partition, offset) of each, in order."""
    places = [None] * len(records)
    errors = []

    def delivered(index):
        def callback(error, message):
            if error:
                errors.append(error)
            else:
                places[index] = (message.partition(), message.offset())

        return callback

    producer = Producer({**COMMON, "acks": "all", "linger.ms": 5, **config})
    for index, (key, value, headers) in enumerate(records):
        producer.produce(topic, key=key, value=value, headers=headers, on_delivery=delivered(index))
        producer.poll(0)
    left = producer.flush(PATIENCE)
    assert left == 0 and not errors, f"{left} records not delivered, {errors}"
    return places


def read_group(group, topic, count, **config):
    consumer = Consumer({**COMMON, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False, **config})
    consumer.subscribe([topic])
    got, deadline = [], time.monotonic() + PATIENCE
    while len(got) < count:
        assert time.monotonic() < deadline, f"{len(got)} of {count} records"
        for message in consumer.consume(count - len(got), timeout=1):
            if message.error():
                raise KafkaException(message.error())
            got.append(message)
    consumer.commit(asynchronous=False)
    consumer.close()
    return got


def round_trip(codec, **config):
    topic = create_topic(f"{codec}{len(config)}")
    records = [(f"k{i}".encode(), (f"wert {i} €" * i).encode(), [("h", str(i).encode()), ("h", None)]) for i in range(300)]
    places = produce(topic, records, **{"compression.type": codec}, **config)
    assert places == [(0, i) for i in range(len(records))], f"acknowledged at {places[:5]}..."
    got = read_group(f"{topic}-group", topic, len(records))
    for record, place, message in zip(records, places, got, strict=True):
        assert (message.partition(), message.offset()) == place
        assert (message.key(), message.value(), message.headers()) == record, f"{message.offset()}: {message.key()} {message.headers()}"


def null_and_empty():
    topic = create_topic("null")
    produce(topic, [(b"k", None, None), (None, b"", None), (b"", b"v", None)])
    got = read_group(f"{topic}-group", topic, 3)
    assert [(m.key(), m.value()) for m in got] == [(b"k", None), (None, b""), (b"", b"v")]


def commit_and_resume():
    topic = create_topic("resume", 3)
    group = f"{topic}-group"
    produce(topic, [(str(i).encode(), str(i).encode(), None) for i in range(90)])
    first = read_group(group, topic, 30)
    second = read_group(group, topic, 60)
    values = sorted(int(m.value()) for m in first + second)
    assert values == list(range(90)), f"read {len(values)}, distinct {len(set(values))}"
    request = [ConsumerGroupTopicPartitions(group)]
    committed = admin.list_consumer_group_offsets(request)[group].result(PATIENCE).topic_partitions
    assert sum(p.offset for p in committed if p.topic == topic) == 90, committed


def seek_and_watermarks():
    topic = create_topic("seek")
    produce(topic, [(None, str(i).encode(), None) for i in range(10)])
    consumer = Consumer({**COMMON, "group.id": "unused"})
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=PATIENCE) == (0, 10)
    for start, want in ((7, b"7"), (OFFSET_BEGINNING, b"0")):
        consumer.assign([TopicPartition(topic, 0, start)])
        message = consumer.poll(PATIENCE)
        assert message is not None and message.value() == want, message and message.value()
    consumer.close()


def offsets_by_time():
    topic = create_topic("time")
    producer = Producer(COMMON)
    for i in range(10):
        producer.produce(topic, value=str(i), timestamp=1_700_000_000_000 + i)
    assert producer.flush(PATIENCE) == 0
    at = TopicPartition(topic, 0)
    for spec, want in ((OffsetSpec.for_timestamp(1_700_000_000_004), 4), (OffsetSpec.earliest(), 0), (OffsetSpec.latest(), 10), (OffsetSpec.max_timestamp(), 9)):
        got = admin.list_offsets({at: spec})[at].result(PATIENCE).offset
        assert got == want, f"{spec}: {got}, want {want}"


def topics_admin():
    topic = create_topic("admin", 1, {"retention.ms": "1234567"})
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    assert admin.describe_configs([resource])[resource].result(PATIENCE)["retention.ms"].value == "1234567"
    admin.create_partitions([NewPartitions(topic, 4)])[topic].result(PATIENCE)
    admin.delete_topics([topic])[topic].result(PATIENCE)


def groups_admin():
    topic = create_topic("groups")
    group = f"{topic}-group"
    produce(topic, [(None, b"x", None)])
    read_group(group, topic, 1)
    assert group in [g.group_id for g in admin.list_consumer_groups().result(PATIENCE).valid]
    described = admin.describe_consumer_groups([group])[group].result(PATIENCE)
    assert described.state.name == "EMPTY" and described.coordinator.id == 1, described.state
    admin.delete_consumer_groups([group])[group].result(PATIENCE)
    assert group not in [g.group_id for g in admin.list_consumer_groups().result(PATIENCE).valid]


def describe_cluster():
    cluster = admin.describe_cluster().result(PATIENCE)
    assert [node.id for node in cluster.nodes] == [1] and cluster.controller.id == 1
    assert str(cluster.nodes[0].port) == BOOTSTRAP.rsplit(":", 1)[1]


CASES = {f"produce {codec} and group consume": (lambda codec=codec: round_trip(codec)) for codec in ("none", "gzip", "snappy", "lz4", "zstd")}
CASES |= {
    "idempotent producer": lambda: round_trip("lz4", **{"enable.idempotence": True}),
    "null and empty": null_and_empty,
    "commit and resume": commit_and_resume,
    "seek and watermarks": seek_and_watermarks,
    "offsets by time": offsets_by_time,
    "admin of topics": topics_admin,
    "admin of groups": groups_admin,
    "describe cluster": describe_cluster,
}

failed = 0
for name, run in CASES.items():
    try:
        run()
        print(f"ok {name}", flush=True)
    except Exception:
        failed += 1
        print(f"not ok {name}: {traceback.format_exc().strip()}".replace("\n", " | "), flush=True)
sys.exit(1 if failed else 0)
