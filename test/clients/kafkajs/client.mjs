// Drives a broker with KafkaJS. Usage: node client.mjs HOST:PORT PREFIX
// Prints `ok NAME` or `not ok NAME: reason` per case; topics and groups carry PREFIX.
import assert from 'node:assert/strict';
import net from 'node:net';
import kafkajs from 'kafkajs';

const { CompressionTypes, Kafka, logLevel } = kafkajs;
const [, , bootstrap, prefix] = process.argv;

// KafkaJS cannot parse [::1]:PORT: there it is given a name, and a socket that goes to ::1 whatever the name.
const six = bootstrap.startsWith('[::1]:');
const brokers = [six ? bootstrap.replace('[::1]', 'localhost') : bootstrap];
const socketFactory = six ? ({ port, onConnect }) => net.connect({ host: '::1', port }, onConnect) : undefined;

const kafka = new Kafka({ clientId: 'klamm-test', brokers, socketFactory, logLevel: logLevel.NOTHING, retry: { retries: 8 } });
const admin = kafka.admin();
const producer = kafka.producer({ createPartitioner: kafkajs.Partitioners.DefaultPartitioner });
const idempotent = kafka.producer({ idempotent: true, maxInFlightRequests: 1, createPartitioner: kafkajs.Partitioners.DefaultPartitioner });

async function createTopic(name, numPartitions = 1, configEntries = []) {
  const topic = `${prefix}-${name}`;
  await admin.createTopics({ waitForLeaders: true, topics: [{ topic, numPartitions, replicationFactor: 1, configEntries }] });
  return topic;
}

// Reads `count` records as a group and commits them by leaving.
async function readGroup(groupId, topic, count) {
  const consumer = kafka.consumer({ groupId });
  const messages = [];
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => payload.restart || reject(payload.error));
    consumer
      .run({
        eachMessage: async ({ partition, message }) => {
          messages.push({ partition, ...message });
          if (messages.length === count) resolve();
        },
      })
      .catch(reject);
  });
  await consumer.disconnect();
  return messages;
}

const text = (buffer) => (buffer === null ? null : buffer.toString());
const sortedByOffset = (messages) => messages.map((m) => ({ ...m, offset: Number(m.offset) })).sort((a, b) => a.offset - b.offset);

async function roundTrip(sender, name, compression) {
  const topic = await createTopic(name);
  const messages = Array.from({ length: 200 }, (_, i) => ({ key: `k${i}`, value: `${'wert '.repeat(i)}€`, headers: { h: `${i}`, same: ['1', '2'] } }));
  const [result] = await sender.send({ topic, messages, compression, acks: -1 });
  assert.equal(result.errorCode, 0);
  assert.equal(result.baseOffset, '0');
  const got = sortedByOffset(await readGroup(`${topic}-group`, topic, messages.length));
  got.forEach((m, i) => {
    assert.equal(m.offset, i);
    assert.equal(text(m.key), messages[i].key);
    assert.equal(text(m.value), messages[i].value);
    assert.equal(text(m.headers.h), `${i}`);
    assert.deepEqual(m.headers.same.map(text), ['1', '2']);
  });
}

const cases = {
  'produce and group consume': () => roundTrip(producer, 'none', CompressionTypes.None),
  'produce gzip and group consume': () => roundTrip(producer, 'gzip', CompressionTypes.GZIP),
  'idempotent producer': () => roundTrip(idempotent, 'idempotent', CompressionTypes.None),
  'null value and null key': async () => {
    const topic = await createTopic('null');
    await producer.send({ topic, messages: [{ key: 'k', value: null }, { value: '' }] });
    const got = sortedByOffset(await readGroup(`${topic}-group`, topic, 2));
    assert.deepEqual(got.map((m) => [text(m.key), text(m.value)]), [['k', null], [null, '']]);
  },
  'committed offsets and lag': async () => {
    const topic = await createTopic('lag', 2);
    const groupId = `${topic}-group`;
    await producer.send({ topic, messages: Array.from({ length: 50 }, (_, i) => ({ key: `${i}`, value: `${i}` })) });
    await readGroup(groupId, topic, 50);
    await producer.send({ topic, messages: [{ key: 'late', value: 'late' }] });
    const [{ partitions }] = await admin.fetchOffsets({ groupId, topics: [topic] });
    const ends = await admin.fetchTopicOffsets(topic);
    const sum = (list) => list.reduce((total, p) => total + Number(p.offset), 0);
    assert.equal(sum(partitions), 50);
    assert.equal(sum(ends), 51);
    assert.deepEqual((await readGroup(groupId, topic, 1)).map((m) => text(m.value)), ['late']);
  },
  'admin of topics': async () => {
    const topic = await createTopic('admin', 2, [{ name: 'retention.ms', value: '1234567' }]);
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    assert.equal(topics[0].partitions.length, 2);
    const { resources } = await admin.describeConfigs({ resources: [{ type: 2, name: topic, configNames: ['retention.ms'] }] });
    assert.equal(resources[0].configEntries.find((e) => e.configName === 'retention.ms').configValue, '1234567');
    await admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] });
    await admin.deleteTopics({ topics: [topic] });
    for (const end = Date.now() + 30_000; (await admin.listTopics()).includes(topic); ) assert.ok(Date.now() < end, 'deleted and still listed');
  },
  'admin of groups': async () => {
    const topic = await createTopic('groups');
    const groupId = `${topic}-group`;
    await producer.send({ topic, messages: [{ value: 'x' }] });
    await readGroup(groupId, topic, 1);
    assert.ok((await admin.listGroups()).groups.some((g) => g.groupId === groupId));
    assert.equal((await admin.describeGroups([groupId])).groups[0].state, 'Empty');
    await admin.deleteGroups([groupId]);
    assert.ok(!(await admin.listGroups()).groups.some((g) => g.groupId === groupId));
  },
  'describe cluster': async () => {
    const cluster = await admin.describeCluster();
    assert.equal(cluster.brokers.length, 1);
    assert.equal(`${cluster.brokers[0].port}`, bootstrap.split(':').at(-1));
    assert.equal(cluster.controller, 1);
  },
};

await Promise.all([admin.connect(), producer.connect(), idempotent.connect()]);
let failed = 0;
for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    console.log(`ok ${name}`);
  } catch (error) {
    failed++;
    console.log(`not ok ${name}: ${String(error.stack).replaceAll('\n', ' | ')}`);
  }
}
await Promise.all([admin.disconnect(), producer.disconnect(), idempotent.disconnect()]);
process.exit(failed ? 1 : 0);
