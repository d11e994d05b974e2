package metadata

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"klamm/internal/kafkarecord"
	"klamm/internal/protocol"
)

// Kinds of UpdateFeatures changes.
const (
	upgrade         = 1
	safeDowngrade   = 2
	unsafeDowngrade = 3
)

// updateFeatures handles UpdateFeatures (57): all updates or none. Levels beyond what this build
// supports are refused; metadata.version cannot go down, as older record formats would lose fields.
func (s *step) updateFeatures(req *kmsg.UpdateFeaturesRequest) kmsg.Response {
	resp := kmsg.NewPtrUpdateFeaturesResponse()
	var refused *apiError
	for i := range req.FeatureUpdates {
		u := &req.FeatureUpdates[i]
		result := kmsg.NewUpdateFeaturesResponseResult()
		result.Feature = u.Feature
		if err := s.updateFeature(req.Version, u); err != nil {
			result.ErrorCode, result.ErrorMessage = err.code, err.text()
			if refused == nil {
				refused = err
			}
		}
		resp.Results = append(resp.Results, result)
	}
	if refused != nil {
		s.forget()
		if req.Version >= 2 {
			resp.ErrorCode, resp.ErrorMessage = refused.code, refused.text()
		}
	}
	if req.ValidateOnly {
		s.forget()
	}
	return resp
}

func (s *step) updateFeature(version int16, u *kmsg.UpdateFeaturesRequestFeatureUpdate) *apiError {
	kind := u.UpgradeType
	if version == 0 {
		kind = upgrade
		if u.AllowDowngrade {
			kind = safeDowngrade
		}
	}
	current := s.img().features[u.Feature]
	supported, known := SupportedFeatures()[u.Feature]
	level := u.MaxVersionLevel
	switch {
	case !known && level != 0:
		return refuse(protocol.CodeInvalidUpdateVersion, "Feature %s is not supported by this version of Klamm.", u.Feature)
	case kind < upgrade || kind > unsafeDowngrade:
		return refuse(protocol.CodeInvalidUpdateVersion, "Upgrade type %d of feature %s is not known.", kind, u.Feature)
	case level < 0:
		return refuse(protocol.CodeInvalidUpdateVersion, "The level of feature %s cannot be negative.", u.Feature)
	case level == current:
		return nil
	case level < current && kind == upgrade:
		return refuse(protocol.CodeInvalidUpdateVersion, "Feature %s is at level %d; level %d would be a downgrade, which the request does not allow.", u.Feature, current, level)
	case level > current && kind != upgrade:
		return refuse(protocol.CodeInvalidUpdateVersion, "Feature %s is at level %d; level %d would not be a downgrade.", u.Feature, current, level)
	case known && (level < supported.Min || level > supported.Max):
		return refuse(protocol.CodeInvalidUpdateVersion, "This version of Klamm supports levels %d to %d of feature %s, not %d.", supported.Min, supported.Max, u.Feature, level)
	case u.Feature == metadataVersionFeature && level < current:
		return refuse(protocol.CodeInvalidUpdateVersion, "metadata.version cannot be lowered from %d to %d: records in older formats would lose fields.", current, level)
	case u.Feature == kraftVersionFeature:
		return refuse(protocol.CodeInvalidUpdateVersion, "kraft.version stays at %d: this version of Klamm has a quorum of one fixed voter.", current)
	}
	s.emit(&kafkarecord.FeatureLevelRecord{Name: u.Feature, FeatureLevel: level}, 0)
	return nil
}
