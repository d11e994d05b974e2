package httpapi

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"klamm/internal/explorer"
)

const apiPrefix = "/api/v1"

// apiConfig describes the API. No docs page: it would load scripts from elsewhere.
func apiConfig(version string) huma.Config {
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title:   "Klamm explorer",
				Version: version,
				Description: "Everything the explorer's page does. 64-bit integers (offsets, timestamps in ms, sizes, counts) are JSON strings. " +
					"Names in paths are one percent-encoded segment. A failed call is answered with a Problem; an answer that is only partly there names what is missing in `problems`. " +
					"Changes need Content-Type: application/json, and come from the same origin.",
			},
			Components: &huma.Components{Schemas: huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)},
		},
		Formats:       map[string]huma.Format{"application/json": jsonFormat(), "json": jsonFormat()},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{oneErrorShape},
	}
}

// jsonFormat writes JSON without HTML escapes, so that text reads as it is.
func jsonFormat() huma.Format { return huma.DefaultJSONFormat }

// finishOpenAPI makes the description say what encoding/json does: int64 as strings, lists never null,
// one error shape.
func finishOpenAPI(api huma.API) {
	o := api.OpenAPI()
	schemas := o.Components.Schemas
	problem := schemas.Schema(reflect.TypeFor[explorer.Problem](), true, "")
	for _, s := range schemas.Map() {
		fixSchema(s)
	}
	delete(schemas.Map(), "ErrorModel")
	delete(schemas.Map(), "ErrorDetail")
	for _, item := range o.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Delete} {
			if op == nil {
				continue
			}
			op.Responses["default"] = &huma.Response{
				Description: "The call failed.",
				Content:     map[string]*huma.MediaType{"application/json": {Schema: problem}},
			}
		}
	}
}

// fixSchema walks one schema in place.
func fixSchema(s *huma.Schema) {
	if s == nil {
		return
	}
	switch {
	case s.Type == huma.TypeArray:
		s.Nullable = false
	case s.Type == huma.TypeInteger && s.Format == "int64":
		s.Type, s.Pattern, s.Minimum = huma.TypeString, `^-?[0-9]{1,19}$`, nil
		s.PrecomputeMessages()
	}
	fixSchema(s.Items)
	for _, p := range s.Properties {
		fixSchema(p)
	}
	if extra, ok := s.AdditionalProperties.(*huma.Schema); ok {
		fixSchema(extra)
	}
}

// OpenAPI is the API's description as indented JSON, for the page's type generator.
func OpenAPI() ([]byte, error) {
	h, err := newAPI(Options{Version: "1"})
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(h.OpenAPI())
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}
