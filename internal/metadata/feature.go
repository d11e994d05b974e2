package metadata

// Names of features with a meaning of their own here.
const (
	metadataVersionFeature = "metadata.version"
	kraftVersionFeature    = "kraft.version"
	elrFeature             = "eligible.leader.replicas.version"
)

// metadataLevel is the metadata.version of Kafka 4.4 (4.4-IV2): what a new cluster is finalised at.
const metadataLevel = 33

// SupportedFeatures returns the range of levels of each feature this build implements, as brokers
// and controllers register them and as ApiVersions lists them. What is not built is not named.
func SupportedFeatures() map[string]VersionRange {
	return map[string]VersionRange{
		metadataVersionFeature: {25, metadataLevel}, // from 4.0-IV3
		kraftVersionFeature:    {0, 1},
		elrFeature:             {0, 1},
	}
}

// registerBrokerVersion is the record version the finalised metadata.version asks for.
func (m *Image) registerBrokerVersion() int16 {
	if m.levels[metadataVersionFeature] >= 30 { // 4.3-IV0 added cordoned log directories
		return 4
	}
	return 3
}

// elrEnabled says whether eligible leader replicas (KIP-966) are finalised.
func (m *Image) elrEnabled() bool { return m.levels[elrFeature] >= 1 }
