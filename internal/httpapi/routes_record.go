package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"klamm/internal/explorer"
)

// maxSendBytes bounds the JSON of a record to send (hex takes twice its bytes).
const maxSendBytes = 64 << 20

// RecordPath names one record.
type RecordPath struct {
	TopicPath
	Partition int32  `path:"partition" minimum:"0"`
	Offset    string `path:"offset" pattern:"^[0-9]{1,19}$"`
}

func (p RecordPath) address() (explorer.RecordAddress, error) {
	offset, err := strconv.ParseInt(p.Offset, 10, 64)
	if err != nil {
		return explorer.RecordAddress{}, badRequest("The offset is larger than any offset can be.", p.Offset)
	}
	return explorer.RecordAddress{Topic: p.Topic, Partition: p.Partition, Offset: offset}, nil
}

// PartQuery names a piece of a record.
type PartQuery struct {
	Part   string `query:"part" enum:"key,value,header" default:"value"`
	Header int    `query:"header" minimum:"0" doc:"Index of the header, for part=header."`
}

func (q PartQuery) part() explorer.Part { return explorer.Part{Name: q.Part, Header: q.Header} }

type sliceInput struct {
	RecordPath
	PartQuery
	View   string `query:"view" enum:"text,pretty,hex" default:"text"`
	From   string `query:"from" pattern:"^[0-9]{1,18}$" default:"0" doc:"First byte of the view."`
	Length int32  `query:"length" minimum:"1" maximum:"1048576" default:"65536" doc:"Bytes of the view."`
}

type bytesInput struct {
	RecordPath
	PartQuery
}

type sendInput struct {
	TopicPath
	Body explorer.SendRequest
}

func (r *routes) records() {
	onCluster(r, huma.Operation{
		OperationID: "getRecord", Method: http.MethodGet, Path: "/topics/{topic}/records/{partition}/{offset}", Tags: []string{"records"},
		Summary: "One record in full", Description: "Key, value and headers with the first slice of each view, the decode report, and the batch it lies in.",
	}, func(ctx context.Context, c *explorer.Connection, in RecordPath) (explorer.RecordDetail, error) {
		at, err := in.address()
		if err != nil {
			return explorer.RecordDetail{}, err
		}
		return c.Record(ctx, at)
	})
	onCluster(r, huma.Operation{
		OperationID: "getRecordSlice", Method: http.MethodGet, Path: "/topics/{topic}/records/{partition}/{offset}/slice", Tags: []string{"records"},
		Summary: "A further slice of a long key, value or header",
	}, func(ctx context.Context, c *explorer.Connection, in sliceInput) (explorer.Slice, error) {
		at, err := in.address()
		if err != nil {
			return explorer.Slice{}, err
		}
		from, err := strconv.ParseInt(in.From, 10, 64)
		if err != nil {
			return explorer.Slice{}, badRequest("The start of the slice is not a number.", in.From)
		}
		return c.RecordSlice(ctx, at, explorer.SliceRequest{Part: in.part(), View: in.View, From: from, Length: int(in.Length)})
	})
	onCluster(r, huma.Operation{
		OperationID: "sendRecord", Method: http.MethodPost, Path: "/topics/{topic}/records", Tags: []string{"records"},
		MaxBodyBytes: maxSendBytes, BodyReadTimeout: time.Minute,
		Summary: "Send one record", Description: "Answers after all in-sync replicas have it (acks=all).",
	}, func(ctx context.Context, c *explorer.Connection, in sendInput) (explorer.SendResult, error) {
		return c.Send(ctx, in.Topic, in.Body)
	})
	r.download()
}

// download answers the exact bytes of a part as a file.
func (r *routes) download() {
	op := huma.Operation{
		OperationID: "getRecordBytes", Method: http.MethodGet, Path: apiPrefix + "/clusters/{cluster}/topics/{topic}/records/{partition}/{offset}/bytes", Tags: []string{"records"},
		Summary: "The exact bytes of a key, value or header as a file", Description: "A null part is an error (NULL_PART): a file cannot tell it from an empty one.",
		Responses: map[string]*huma.Response{"200": {Description: "The bytes.", Content: map[string]*huma.MediaType{"application/octet-stream": {
			Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"},
		}}}},
	}
	huma.Register(r.api, op, func(ctx context.Context, in *bytesInput) (*fileAnswer, error) {
		ctx, cancel := context.WithTimeout(ctx, r.timeout)
		defer cancel()
		data, err := r.recordBytes(ctx, in)
		if err != nil {
			return nil, fail(err)
		}
		name := fmt.Sprintf("%d-%s-%s.bin", in.Partition, in.Offset, in.Part)
		return &fileAnswer{ContentType: "application/octet-stream", Disposition: `attachment; filename="` + name + `"`, Body: data}, nil
	})
}

// fileAnswer is a download. The name holds no topic name: those may need escaping no browser agrees on.
type fileAnswer struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

func (r *routes) recordBytes(ctx context.Context, in *bytesInput) ([]byte, error) {
	at, err := in.address()
	if err != nil {
		return nil, err
	}
	conn, err := r.ex.Connection(in.Cluster)
	if err != nil {
		return nil, err
	}
	return conn.RecordBytes(ctx, at, in.part())
}
