package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"klamm/internal/explorer"
)

type messagesInput struct {
	TopicPath
	Range        string  `query:"range" enum:"newest,oldest,offset,time,live" default:"newest"`
	Limit        int32   `query:"limit" minimum:"1" maximum:"10000" default:"50" doc:"Records to show at most (not for live)."`
	Partition    []int32 `query:"partition" doc:"Comma-separated; all when left out."`
	Offset       string  `query:"offset" pattern:"^[0-9]{1,19}$" doc:"range=offset: the first offset, inclusive, in each chosen partition."`
	Timestamp    string  `query:"timestamp" pattern:"^-?[0-9]{1,19}$" doc:"range=time: the first timestamp, ms since 1970 UTC, inclusive."`
	Isolation    string  `query:"isolation" enum:"read_committed,read_uncommitted" default:"read_committed" doc:"read_committed hides aborted and still open transactions."`
	Cursor       string  `query:"cursor" maxLength:"100000" doc:"From a done event: go on there."`
	PreviewBytes int32   `query:"previewBytes" minimum:"16" maximum:"4096" default:"200" doc:"Bounds the text of each key and value."`
}

// request turns the query into what the explorer scans.
func (in *messagesInput) request() (explorer.ScanRequest, error) {
	q := explorer.ScanRequest{
		Topic: in.Topic, Range: explorer.Range(in.Range), Limit: int(in.Limit), Partitions: in.Partition,
		ReadCommitted: in.Isolation == "read_committed", PreviewBytes: int(in.PreviewBytes),
	}
	var err error
	if in.Cursor != "" {
		q.Cursor, err = explorer.ParseCursor(in.Cursor)
		return q, err
	}
	switch q.Range {
	case explorer.RangeOffset:
		if q.Offset, err = strconv.ParseInt(in.Offset, 10, 64); err != nil {
			return q, badRequest("range=offset needs offset, a whole number from 0.", in.Offset)
		}
	case explorer.RangeTime:
		if q.Timestamp, err = strconv.ParseInt(in.Timestamp, 10, 64); err != nil {
			return q, badRequest("range=time needs timestamp, in ms since 1970 UTC.", in.Timestamp)
		}
	}
	return q, nil
}

func (r *routes) messages() {
	op := huma.Operation{
		OperationID: "messages", Method: http.MethodGet, Path: apiPrefix + "/clusters/{cluster}/topics/{topic}/messages", Tags: []string{"records"},
		Summary: "Records of a topic as server-sent events",
		Description: "Events: `progress` and `messages` (together 10 a second at most), `problem` (something failed, the rest goes on), and `done`, always last. " +
			"newest merges partitions by timestamp, newest first. A range ends at the end offsets seen at the start; live goes on until closed. " +
			"No consumer group is involved. Closing the stream closes the fetch connections.",
		Responses: map[string]*huma.Response{"200": {Description: "The events.", Content: map[string]*huma.MediaType{"text/event-stream": {Schema: r.eventSchema()}}}},
	}
	huma.Register(r.api, op, func(_ context.Context, in *messagesInput) (*huma.StreamResponse, error) {
		q, err := in.request()
		if err != nil {
			return nil, fail(err)
		}
		conn, err := r.ex.Connection(in.Cluster)
		if err != nil {
			return nil, fail(err)
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) { r.stream(hc, conn, q) }}, nil
	})
}

// eventSchema documents the four events.
func (r *routes) eventSchema() *huma.Schema {
	var kinds []*huma.Schema
	add := func(event string, t reflect.Type) {
		kinds = append(kinds, &huma.Schema{
			Title: "Event " + event, Type: huma.TypeObject, Required: []string{"event", "data"},
			Properties: map[string]*huma.Schema{
				"event": {Type: huma.TypeString, Enum: []any{event}},
				"data":  r.api.OpenAPI().Components.Schemas.Schema(t, true, event),
			},
		})
	}
	add("progress", reflect.TypeFor[explorer.Progress]())
	add("messages", reflect.TypeFor[explorer.RecordBatch]())
	add("problem", reflect.TypeFor[explorer.ScanProblem]())
	add("done", reflect.TypeFor[explorer.Done]())
	return &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{OneOf: kinds}}
}

// streamWriteTimeout is how long one event may take to reach a page that does not read.
const streamWriteTimeout = 20 * time.Second

func (r *routes) stream(hc huma.Context, conn *explorer.Connection, q explorer.ScanRequest) {
	req, w := humago.Unwrap(hc)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	w.WriteHeader(http.StatusOK)
	sink := &eventSink{w: w, control: http.NewResponseController(w)}
	if err := conn.Scan(req.Context(), q, sink); err != nil && req.Context().Err() == nil {
		r.log.Warn("an event stream broke off", "topic", q.Topic, "error", err)
	}
}

// eventSink writes a scan's events as server-sent events.
type eventSink struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

func (s *eventSink) send(event string, data any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return err
	}
	// A writer that cannot have a deadline (a test recorder) is fine without.
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout))
	line := append([]byte("event: "+event+"\ndata: "), body...)
	if _, err := s.w.Write(append(line, '\n', '\n')); err != nil {
		return err
	}
	return s.control.Flush()
}

func (s *eventSink) Progress(p explorer.Progress) error { return s.send("progress", p) }
func (s *eventSink) Records(rows []explorer.RecordRow) error {
	return s.send("messages", explorer.RecordBatch{Records: rows})
}
func (s *eventSink) Problem(p explorer.ScanProblem) error { return s.send("problem", p) }
func (s *eventSink) Done(d explorer.Done) error           { return s.send("done", d) }
