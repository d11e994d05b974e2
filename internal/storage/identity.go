package storage

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Small files that say what a directory is.
const (
	metaPropertiesFile    = "meta.properties"
	partitionMetadataFile = "partition.metadata"
	cleanShutdownFile     = ".kafka_cleanshutdown"
	lockFile              = ".lock"
	smallFileMaxBytes     = 1 << 20
	metaVersion           = 1
)

// FormatUUID is Kafka's text form of an id: 22 characters of URL-safe base64 without padding.
func FormatUUID(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// ParseUUID reads the text form of an id.
func ParseUUID(s string) (id [16]byte, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(raw) != len(id) {
		return id, fmt.Errorf("%.40q is not an id of 22 base64 characters", s)
	}
	copy(id[:], raw)
	return id, nil
}

// MetaProperties is meta.properties of a log directory (Kafka's MetaProperties, version 1).
type MetaProperties struct {
	ClusterID   string
	NodeID      int32
	DirectoryID [16]byte // zero when the file names none
	Other       map[string]string
}

// AppendTo writes the file: Java properties, sorted by name.
func (p MetaProperties) AppendTo(dst []byte) []byte {
	all := map[string]string{}
	maps.Copy(all, p.Other)
	all["version"] = strconv.Itoa(metaVersion)
	all["cluster.id"] = p.ClusterID
	all["node.id"] = strconv.Itoa(int(p.NodeID))
	all["directory.id"] = FormatUUID(p.DirectoryID)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		dst = fmt.Appendf(dst, "%s=%s\n", key, all[key])
	}
	return dst
}

// ParseMetaProperties reads meta.properties. A version above 1 is a *NewerVersionError, anything
// malformed a *FormatError.
func ParseMetaProperties(file string, data []byte) (MetaProperties, error) {
	all := parseProperties(string(data))
	version, err := strconv.Atoi(all["version"])
	if err != nil {
		return MetaProperties{}, &FormatError{file, "version is missing or not a number"}
	}
	if version > metaVersion {
		return MetaProperties{}, &NewerVersionError{file, version, metaVersion}
	}
	node := all["node.id"]
	if version < metaVersion { // version 0 named it so
		node = all["broker.id"]
	}
	id, err := strconv.ParseInt(node, 10, 32)
	if err != nil || id < 0 {
		return MetaProperties{}, &FormatError{file, "node.id is missing or not a number"}
	}
	p := MetaProperties{ClusterID: all["cluster.id"], NodeID: int32(id), Other: map[string]string{}}
	if p.ClusterID == "" {
		return MetaProperties{}, &FormatError{file, "cluster.id is missing"}
	}
	if text := all["directory.id"]; text != "" {
		if p.DirectoryID, err = ParseUUID(text); err != nil {
			return MetaProperties{}, &FormatError{file, "directory.id: " + err.Error()}
		}
	}
	for key, value := range all {
		switch key {
		case "version", "cluster.id", "node.id", "directory.id", "broker.id":
		default:
			p.Other[key] = value
		}
	}
	return p, nil
}

// parseProperties reads "key=value" lines. Kafka writes ids and numbers only, so none of the
// escapes of Java's format but a backslash before a character is needed.
func parseProperties(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		out[strings.TrimSpace(key)] = strings.ReplaceAll(strings.TrimSpace(value), `\`, "")
	}
	return out
}

// AppendPartitionMetadata writes partition.metadata, which ties a directory to a topic id.
func AppendPartitionMetadata(dst []byte, topicID [16]byte) []byte {
	return fmt.Appendf(dst, "version: 0\ntopic_id: %s", FormatUUID(topicID))
}

// ParsePartitionMetadata reads partition.metadata; a malformed one is a *FormatError.
func ParsePartitionMetadata(file string, data []byte) (topicID [16]byte, err error) {
	version, text := "", ""
	for line := range strings.Lines(string(data)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch key {
		case "version":
			version = strings.TrimSpace(value)
		case "topic_id":
			text = strings.TrimSpace(value)
		}
	}
	if n, err := strconv.Atoi(version); err != nil {
		return topicID, &FormatError{file, "version is missing or not a number"}
	} else if n > 0 {
		return topicID, &NewerVersionError{file, n, 0}
	}
	if topicID, err = ParseUUID(text); err != nil {
		return topicID, &FormatError{file, "topic_id: " + err.Error()}
	}
	return topicID, nil
}

// cleanShutdown is the content of .kafka_cleanshutdown.
type cleanShutdown struct {
	Version     int   `json:"version"`
	BrokerEpoch int64 `json:"brokerEpoch"`
}

// AppendCleanShutdown writes .kafka_cleanshutdown (Kafka's CleanShutdownFileHandler).
func AppendCleanShutdown(dst []byte, brokerEpoch int64) []byte {
	return fmt.Appendf(dst, `{"version":0,"brokerEpoch":%d}`, brokerEpoch)
}

// ParseCleanShutdown reads .kafka_cleanshutdown and returns the epoch, -1 when the content is
// unreadable: that the file is there says enough (old versions wrote it empty).
func ParseCleanShutdown(data []byte) (brokerEpoch int64) {
	var c cleanShutdown
	if err := json.Unmarshal(data, &c); err != nil || c.Version != 0 || c.BrokerEpoch < -1 {
		return -1
	}
	return c.BrokerEpoch
}
