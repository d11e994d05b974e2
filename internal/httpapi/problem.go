package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"klamm/internal/explorer"
)

// failure is an explorer.Problem with the HTTP status it is answered with. Its JSON is the problem's.
type failure struct {
	explorer.Problem
	status int
}

// GetStatus tells huma the status code.
func (f *failure) GetStatus() int { return f.status }

// ContentType keeps errors application/json, as every other answer.
func (f *failure) ContentType(string) string { return "application/json" }

// statusOf says which status goes with a problem code; 502 for what the cluster answered.
func statusOf(code string) int {
	switch code {
	case "INVALID_REQUEST", "INVALID_PAYLOAD", "INVALID_SETTINGS", "INVALID_TOPIC_EXCEPTION", "INVALID_PARTITIONS",
		"INVALID_REPLICATION_FACTOR", "INVALID_CONFIG", "POLICY_VIOLATION", "MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_TIMESTAMP", "INVALID_RECORD":
		return http.StatusBadRequest
	case "UNKNOWN_CLUSTER", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_ID", "UNKNOWN_GROUP", "NO_SUCH_RECORD", "GROUP_ID_NOT_FOUND", "NO_SUCH_PAGE":
		return http.StatusNotFound
	case "TOPIC_ALREADY_EXISTS", "NON_EMPTY_GROUP", "CLUSTER_EXISTS":
		return http.StatusConflict
	case "READ_ONLY", "EMBEDDED_CLUSTER":
		return http.StatusForbidden
	case "TIMEOUT", "REQUEST_TIMED_OUT":
		return http.StatusGatewayTimeout
	case "INTERNAL":
		return http.StatusInternalServerError
	}
	if strings.HasSuffix(code, "_AUTHORIZATION_FAILED") {
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}

// fail turns any error into the one error shape.
func fail(err error) error {
	if err == nil {
		return nil
	}
	var already *failure
	if errors.As(err, &already) {
		return already
	}
	var p *explorer.Problem
	if errors.As(err, &p) {
		return &failure{Problem: *p, status: statusOf(p.Code)}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &failure{status: http.StatusGatewayTimeout, Problem: explorer.Problem{
			Code: "TIMEOUT", Title: "The cluster did not answer in time.", Detail: err.Error(), Retriable: true,
		}}
	}
	return &failure{status: http.StatusInternalServerError, Problem: explorer.Problem{
		Code: "INTERNAL", Title: "Klamm itself failed to do this.", Detail: err.Error(),
		Help: "This is a fault of Klamm: please report it with these details.",
	}}
}

// badRequest is what a caller did wrong.
func badRequest(title, detail string) error {
	return &failure{status: http.StatusBadRequest, Problem: explorer.Problem{Code: "INVALID_REQUEST", Title: title, Detail: detail}}
}

// oneErrorShape rewrites the errors that huma makes itself (validation, unknown content type).
func oneErrorShape(_ huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	p := explorer.Problem{Code: "INVALID_REQUEST", Title: "The request is not understood: " + m.Detail + "."}
	if m.Status >= 500 {
		p.Code, p.Title = "INTERNAL", "Klamm itself failed to do this."
	}
	var words []string
	for _, d := range m.Errors {
		words = append(words, d.Error())
	}
	p.Detail = strings.Join(words, "; ")
	return &failure{Problem: p, status: m.Status}, nil
}
