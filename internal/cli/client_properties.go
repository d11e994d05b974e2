package cli

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"klamm/internal/explorer"
	"klamm/internal/record"
)

// clientProperty turns the value of a client property into an option; nil means it is used
// elsewhere.
type clientProperty func(value string) (kgo.Opt, error)

// clientProperties are the properties that have an effect, under Kafka's and librdkafka's names.
func clientProperties() map[string]clientProperty {
	elsewhere := func(string) (kgo.Opt, error) { return nil, nil }
	acks := func(v string) (kgo.Opt, error) {
		switch v {
		case "all", "-1":
			return kgo.RequiredAcks(kgo.AllISRAcks()), nil
		case "1":
			return kgo.RequiredAcks(kgo.LeaderAck()), nil
		case "0":
			return kgo.RequiredAcks(kgo.NoAck()), nil
		}
		return nil, usagef("acks must be all, 1 or 0, not %q", v)
	}
	compression := func(v string) (kgo.Opt, error) {
		codec, err := compressionCodec(v)
		return kgo.ProducerBatchCompression(codec), err
	}
	idempotence := func(v string) (kgo.Opt, error) {
		if strings.EqualFold(v, "false") {
			return kgo.DisableIdempotentWrite(), nil
		}
		return nil, nil
	}
	batch := count("max.request.size", func(n int32) kgo.Opt { return kgo.ProducerBatchMaxBytes(n) })
	linger := millis("linger.ms", kgo.ProducerLinger)
	delivery := millis("delivery.timeout.ms", kgo.RecordDeliveryTimeout)
	partitionBytes := count("max.partition.fetch.bytes", func(n int32) kgo.Opt { return kgo.FetchMaxPartitionBytes(n) })
	fetchWait := millis("fetch.max.wait.ms", kgo.FetchMaxWait)
	return map[string]clientProperty{
		"bootstrap.servers": elsewhere, "metadata.broker.list": elsewhere,
		"client.id":          func(v string) (kgo.Opt, error) { return kgo.ClientID(v), nil },
		"client.rack":        func(v string) (kgo.Opt, error) { return kgo.Rack(v), nil },
		"request.timeout.ms": millis("request.timeout.ms", kgo.RequestTimeoutOverhead),
		"acks":               acks, "request.required.acks": acks,
		"enable.idempotence": idempotence,
		"compression.type":   compression, "compression.codec": compression,
		"linger.ms": linger, "queue.buffering.max.ms": linger,
		"max.request.size": batch, "message.max.bytes": batch,
		"delivery.timeout.ms": delivery, "message.timeout.ms": delivery,
		"isolation.level": func(v string) (kgo.Opt, error) {
			level, err := isolationLevel(v)
			return kgo.FetchIsolationLevel(level), err
		},
		"fetch.max.bytes":           count("fetch.max.bytes", func(n int32) kgo.Opt { return kgo.FetchMaxBytes(n) }),
		"fetch.min.bytes":           count("fetch.min.bytes", func(n int32) kgo.Opt { return kgo.FetchMinBytes(n) }),
		"max.partition.fetch.bytes": partitionBytes, "fetch.message.max.bytes": partitionBytes,
		"fetch.max.wait.ms": fetchWait, "fetch.wait.max.ms": fetchWait,
		"allow.auto.create.topics": elsewhere,
	}
}

func isClientProperty(name string) bool {
	_, ok := clientProperties()[name]
	return ok || isSecurityProperty(name)
}

func isSecurityProperty(name string) bool {
	return name == "security.protocol" || strings.HasPrefix(name, "sasl.") || strings.HasPrefix(name, "ssl.") || name == "enable.ssl.certificate.verification"
}

func count(name string, option func(int32) kgo.Opt) clientProperty {
	return func(v string) (kgo.Opt, error) {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 0 {
			return nil, usagef("%s must be a whole number from 0 to %d, not %q", name, math.MaxInt32, v)
		}
		return option(int32(n)), nil
	}
}

func millis[O kgo.Opt](name string, option func(time.Duration) O) clientProperty {
	return func(v string) (kgo.Opt, error) {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 0 {
			return nil, usagef("%s must be a number of milliseconds, not %q", name, v)
		}
		return option(time.Duration(n) * time.Millisecond), nil
	}
}

func isolationLevel(v string) (kgo.IsolationLevel, error) {
	switch v {
	case "read_uncommitted":
		return kgo.ReadUncommitted(), nil
	case "read_committed":
		return kgo.ReadCommitted(), nil
	}
	return kgo.IsolationLevel{}, usagef("isolation.level must be read_committed or read_uncommitted, not %q", v)
}

func compressionCodec(name string) (kgo.CompressionCodec, error) {
	codec, err := record.ParseCodec(name)
	if err != nil {
		return kgo.NoCompression(), usagef("%v", err)
	}
	switch codec {
	case record.Gzip:
		return kgo.GzipCompression(), nil
	case record.Snappy:
		return kgo.SnappyCompression(), nil
	case record.Lz4:
		return kgo.Lz4Compression(), nil
	case record.Zstd:
		return kgo.ZstdCompression(), nil
	}
	return kgo.NoCompression(), nil
}

// clientOptions makes options of known properties. Without idempotence acks may be less than all;
// asking for less switches it off, as Kafka's clients do when nobody insists on it.
func clientOptions(props map[string]string) ([]kgo.Opt, error) {
	known := clientProperties()
	var opts []kgo.Opt
	for name, value := range props {
		make := known[name]
		if make == nil {
			continue
		}
		opt, err := make(value)
		if err != nil {
			return nil, err
		}
		if opt != nil {
			opts = append(opts, opt)
		}
	}
	_, insists := props["enable.idempotence"]
	if weak := props["acks"] + props["request.required.acks"]; (weak == "1" || weak == "0") && !insists {
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	security, err := securityOptions(props)
	return append(opts, security...), err
}

// securityOptions are those of encryption and logins, made by the explorer, which knows them all.
func securityOptions(props map[string]string) ([]kgo.Opt, error) {
	security := map[string]string{}
	for name, value := range props {
		if isSecurityProperty(name) {
			security[name] = value
		}
	}
	if len(security) == 0 {
		return nil, nil
	}
	opts, err := explorer.ClientOptions(security)
	if err != nil {
		return nil, usagef("%v", err)
	}
	return opts, nil
}
