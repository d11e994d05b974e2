package broker

import (
	"context"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ApiVersions (key 18): which requests, in which versions, are served; what features are finalised.
//
// Behaviours
//   - Only keys with a handler are named. Produce is named from version 0 on although versions
//     0-2 are refused: librdkafka before 2.8 switches compression off otherwise (KAFKA-18659).
//   - A request of a version we do not know is not parsed; it is answered in version 0 with
//     UNSUPPORTED_VERSION and our range of this key, so that the client can try again (KIP-511).
//   - Client name and version must look like names, else INVALID_REQUEST.
//
// Versions: 0-2 the keys; 3 flexible, client name and features; 4 features with a lowest version
// of 0; 5 the cluster and node the client means to talk to (KIP-1242).
const apiVersionsKey = int16(18)

func (b *Broker) apiVersions(_ context.Context, _ *request, req *kmsg.ApiVersionsRequest) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.ApiVersionsResponse)
	if req.Version >= 3 && (!isSoftwareName(req.ClientSoftwareName) || !isSoftwareName(req.ClientSoftwareVersion)) {
		resp.ErrorCode = kerr.InvalidRequest.Code
		return resp, nil
	}
	if code := b.misrouted(req); code != 0 {
		resp.ErrorCode = code
		return resp, nil
	}
	b.describeAPIs(resp)
	return resp, nil
}

// misrouted refuses a client that reached another cluster, or another broker, than it thinks
// (KIP-1242): it should then bootstrap anew. It must name both or neither.
func (b *Broker) misrouted(req *kmsg.ApiVersionsRequest) int16 {
	switch {
	case req.Version < 5 || (req.ClusterID == nil && req.NodeID == -1):
		return 0
	case req.ClusterID == nil || req.NodeID == -1:
		return kerr.InvalidRequest.Code
	case *req.ClusterID != b.clusterID || req.NodeID != b.nodeID:
		return kerr.RebootstrapRequired.Code
	}
	return 0
}

func (b *Broker) describeAPIs(resp *kmsg.ApiVersionsResponse) {
	resp.ApiKeys = b.apis.ApiKeys()
	image := b.image()
	if self := image.Broker(b.nodeID); self != nil {
		for name, span := range self.Features {
			if resp.Version < 4 && span.Min == 0 {
				continue // older clients cannot read a lowest version of 0 (KAFKA-17492)
			}
			f := kmsg.NewApiVersionsResponseSupportedFeature()
			f.Name, f.MinVersion, f.MaxVersion = name, span.Min, span.Max
			resp.SupportedFeatures = append(resp.SupportedFeatures, f)
		}
	}
	slices.SortFunc(resp.SupportedFeatures, func(x, y kmsg.ApiVersionsResponseSupportedFeature) int { return strings.Compare(x.Name, y.Name) })
	resp.FinalizedFeaturesEpoch, _ = image.Offset()
	for name, level := range image.Features() {
		f := kmsg.NewApiVersionsResponseFinalizedFeature()
		f.Name, f.MinVersionLevel, f.MaxVersionLevel = name, level, level
		resp.FinalizedFeatures = append(resp.FinalizedFeatures, f)
	}
	slices.SortFunc(resp.FinalizedFeatures, func(x, y kmsg.ApiVersionsResponseFinalizedFeature) int { return strings.Compare(x.Name, y.Name) })
}

// unsupportedApiVersions implements dispatcher.
func (b *Broker) unsupportedApiVersions() kmsg.Response {
	return b.apis.UnsupportedAPIVersions()
}

// isSoftwareName accepts letters, digits, '-' and '.', with a letter or digit at both ends.
func isSoftwareName(s string) bool {
	alphanumeric := func(c byte) bool {
		return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
	}
	if s == "" || !alphanumeric(s[0]) || !alphanumeric(s[len(s)-1]) {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && c != '-' && c != '.' {
			return false
		}
	}
	return true
}
