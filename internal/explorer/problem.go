package explorer

import (
	"fmt"
	"strings"
)

// Problem is the one error shape of the explorer: what could not be done, in words for a person,
// with enough structure for a page to translate it. It is both the body of a failed HTTP call and an
// entry of the `problems` list of an answer that is otherwise filled.
type Problem struct {
	Code      string `json:"code" doc:"Stable name: a Kafka error name such as TOPIC_AUTHORIZATION_FAILED, or one of ours such as CONNECTION_REFUSED."`
	Title     string `json:"title" doc:"One sentence for a person."`
	Detail    string `json:"detail,omitempty" doc:"The cause, as the system or the broker said it."`
	Operation string `json:"operation,omitempty" doc:"What was being done, e.g. DescribeConfigs."`
	Resource  string `json:"resource,omitempty" doc:"On what, e.g. 'topic orders' or 'broker 2 (db1:9092)'."`
	Retriable bool   `json:"retriable" doc:"Whether the same call may succeed later."`
	Help      string `json:"help,omitempty" doc:"What to do about it."`

	cause error
}

// Error makes a Problem an error value.
func (p *Problem) Error() string {
	s := strings.TrimSuffix(p.Title, ".")
	if p.Resource != "" {
		s += " (" + p.Resource + ")"
	}
	if p.Detail != "" {
		s = fmt.Sprintf("%s: %s", s, p.Detail)
	}
	return s
}

// Unwrap gives the error the problem was made from, if any.
func (p *Problem) Unwrap() error { return p.cause }
