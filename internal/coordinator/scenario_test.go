package coordinator

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A scenario is a text file. `config NAME=VALUE` sets a broker property, `sleep 2s` lets time pass,
// and `LABEL API/VERSION key=value ...` sends one request as client LABEL. The answers that arrive
// because of a step stand below it, indented, sorted by label. They were recorded from Apache
// Kafka. A request that is still waiting when a step ends shows as "waiting".
type scenario struct {
	path   string
	config map[string]string
	lines  []scenarioLine
}

type scenarioLine struct {
	text   string // as written
	number int
	step   bool
	want   []string
}

// target is a broker, real or in process, that answers scenario requests.
type target interface {
	// send sends a request; the answer goes to reply, from any goroutine.
	send(clientID string, req kmsg.Request, reply func(kmsg.Response, error))
	// settle returns when no more answers will come unless time passes. expected is how many
	// requests are known to be waiting then, -1 if that is not known.
	settle(unanswered func() int, expected int)
	sleep(d time.Duration)
	topicID(name string) [16]byte
}

func readScenario(t *testing.T, path string) *scenario {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := &scenario{path: path, config: map[string]string{}}
	scan := bufio.NewScanner(bytes.NewReader(data))
	scan.Buffer(nil, 1<<20)
	for number := 1; scan.Scan(); number++ {
		text := scan.Text()
		switch {
		case strings.HasPrefix(text, "  ") && len(s.lines) > 0:
			last := &s.lines[len(s.lines)-1]
			last.want = append(last.want, strings.TrimSpace(text))
		case strings.HasPrefix(text, "config "):
			name, value, _ := strings.Cut(strings.TrimPrefix(text, "config "), "=")
			s.config[name] = value
			s.lines = append(s.lines, scenarioLine{text: text, number: number})
		case text == "" || strings.HasPrefix(text, "#"):
			s.lines = append(s.lines, scenarioLine{text: text, number: number})
		default:
			s.lines = append(s.lines, scenarioLine{text: text, number: number, step: true})
		}
	}
	return s
}

func scenarioFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios found: %v", err)
	}
	return files
}

// player runs one scenario against one target.
type player struct {
	t      *testing.T
	target target
	suffix string              // appended to group names, so that runs on one broker do not meet
	ids    map[string][]string // member ids a label was given
	order  []string            // every member id seen, with its owner in owner
	owner  map[string]string

	generations map[string]int32 // that a label was told last
	lenient     bool             // an unknown member token stands for no id

	pending []*pendingCall
	answers chan answer
	seen    []string // answers so far, to explain a failure
}

type pendingCall struct {
	label, api string
	version    int16
	done       bool
}

type answer struct {
	call *pendingCall
	resp kmsg.Response
	err  error
}

func newPlayer(t *testing.T, target target, suffix string) *player {
	return &player{t: t, target: target, suffix: suffix, ids: map[string][]string{}, owner: map[string]string{}, generations: map[string]int32{}, answers: make(chan answer, 1000)}
}

// play runs every step and returns what each answered.
func (p *player) play(s *scenario) [][]string {
	got := make([][]string, len(s.lines))
	for i, line := range s.lines {
		if line.step {
			got[i] = p.step(line)
		}
	}
	return got
}

func (p *player) step(line scenarioLine) []string {
	if d, ok := strings.CutPrefix(line.text, "sleep "); ok {
		pause, err := time.ParseDuration(d)
		if err != nil {
			p.t.Fatalf("line %d: %v", line.number, err)
		}
		p.target.sleep(pause)
	} else {
		p.request(line)
	}
	expected := -1
	if line.want != nil {
		expected = 0
		for _, want := range line.want {
			if strings.HasSuffix(want, ": waiting") {
				expected++
			}
		}
	}
	p.target.settle(p.unanswered, expected)
	return p.collect()
}

func (p *player) request(line scenarioLine) {
	fields := strings.Fields(line.text)
	if len(fields) < 2 {
		p.t.Fatalf("line %d: want LABEL API/VERSION", line.number)
	}
	api, versionText, _ := strings.Cut(fields[1], "/")
	version, err := strconv.ParseInt(versionText, 10, 16)
	if err != nil {
		p.t.Fatalf("line %d: version: %v", line.number, err)
	}
	args := stepArgs{player: p, label: fields[0], line: line.number, values: map[string]string{}}
	for _, field := range fields[2:] {
		name, value, _ := strings.Cut(field, "=")
		args.values[name] = value
	}
	req := args.build(api, int16(version))
	req.SetVersion(int16(version))
	call := &pendingCall{label: fields[0], api: api, version: int16(version)}
	p.pending = append(p.pending, call)
	p.target.send("client"+fields[0], req, func(resp kmsg.Response, err error) {
		p.answers <- answer{call: call, resp: resp, err: err}
	})
}

// unanswered counts the requests whose answer has not arrived.
func (p *player) unanswered() int { return len(p.pending) - len(p.answers) }

// collect renders the answers that have arrived.
func (p *player) collect() []string {
	var arrived []answer
	for len(p.answers) > 0 {
		a := <-p.answers
		a.call.done = true
		arrived = append(arrived, a)
	}
	sort.SliceStable(arrived, func(i, j int) bool {
		a, b := arrived[i].call, arrived[j].call
		return a.label < b.label || a.label == b.label && a.api < b.api
	})
	for _, a := range arrived {
		if join, ok := a.resp.(*kmsg.JoinGroupResponse); ok && join.MemberID != "" {
			p.learn(a.call.label, join.MemberID)
			if join.ErrorCode == 0 {
				p.generations[a.call.label] = join.Generation
			}
		}
	}
	var lines []string
	for _, a := range arrived {
		if a.err != nil {
			lines = append(lines, fmt.Sprintf("%s %s: %v", a.call.label, a.call.api, a.err))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", a.call.label, a.call.api, p.render(a.resp)))
	}
	var waiting []string
	p.pending = slices.DeleteFunc(p.pending, func(c *pendingCall) bool { return c.done })
	for _, c := range p.pending {
		waiting = append(waiting, fmt.Sprintf("%s %s: waiting", c.label, c.api))
	}
	sort.Strings(waiting)
	p.seen = append(p.seen, lines...)
	return append(lines, waiting...)
}

func (p *player) learn(label, id string) {
	if _, known := p.owner[id]; known {
		return
	}
	if !uuidPattern.MatchString(id) {
		return
	}
	p.ids[label] = append(p.ids[label], id)
	p.owner[id] = fmt.Sprintf("#%s%d", label, len(p.ids[label]))
	p.order = append(p.order, id)
}

// A member id ends with a UUID.
var uuidPattern = regexp.MustCompile(uuidHex + `$`)

// resolve replaces member tokens (#A is A's newest id, #A1 its first one).
func (p *player) resolve(token string) string {
	switch {
	case token == "-":
		return ""
	case strings.HasPrefix(token, "#"):
		for id, owner := range p.owner {
			if owner == token {
				return id
			}
		}
		if ids := p.ids[token[1:]]; len(ids) > 0 {
			return ids[len(ids)-1]
		}
		if p.lenient {
			return ""
		}
		p.t.Fatalf("no member id is known for %s; seen: %v", token, p.seen)
	}
	return token
}

func (p *player) groupName(name string) string {
	if name == "-" {
		return ""
	}
	return name + p.suffix
}

// render prints a response in one line, without throttle time, with member ids and the group
// suffix replaced.
func (p *player) render(resp kmsg.Response) string {
	if list, ok := resp.(*kmsg.ListGroupsResponse); ok {
		list.Groups = slices.DeleteFunc(list.Groups, func(g kmsg.ListGroupsResponseGroup) bool {
			return !strings.HasSuffix(g.Group, p.suffix)
		})
		if len(list.Groups) == 0 {
			list.Groups = nil
		}
	}
	text := p.clean(p.renderValue(reflect.ValueOf(resp).Elem(), ""))
	return strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
}

func (p *player) clean(text string) string {
	for _, id := range p.order {
		prefix := uuidPattern.ReplaceAllString(id, "")
		text = strings.ReplaceAll(text, id, prefix+p.owner[id])
	}
	for _, name := range []string{"t1", "t2"} {
		id := p.target.topicID(name)
		text = strings.ReplaceAll(text, fmt.Sprintf("%x", id), "id("+name+")")
	}
	text = strings.ReplaceAll(text, p.suffix, "")
	// The id of a member that waits for its first answer.
	return unknownUUID.ReplaceAllString(text, "#?")
}

var unknownUUID = regexp.MustCompile(uuidHex)

const uuidHex = `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`

var hidden = map[string]bool{"Version": true, "ThrottleMillis": true, "UnknownTags": true}

// unordered are the arrays that Apache Kafka fills from hash maps.
var unordered = map[string]bool{"Members": true, "Groups": true, "Topics": true, "Partitions": true}

func (p *player) renderValue(v reflect.Value, name string) string {
	switch {
	case v.Type() == reflect.TypeFor[[16]byte]():
		return fmt.Sprintf("%x", v.Interface())
	case v.Type() == reflect.TypeFor[[]byte]():
		if v.IsNil() {
			return "null"
		}
		return strconv.Quote(string(v.Bytes()))
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return "null"
		}
		return p.renderValue(v.Elem(), name)
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			field := v.Type().Field(i).Name
			if !hidden[field] {
				parts = append(parts, field+"="+p.renderValue(v.Field(i), field))
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	case reflect.Slice:
		if v.IsNil() {
			return "null"
		}
		if v.Len() == 0 {
			return "[]"
		}
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = p.clean(p.renderValue(v.Index(i), name))
		}
		if unordered[name] {
			sort.Strings(parts)
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.String:
		return strconv.Quote(v.String())
	case reflect.Int16:
		if name == "ErrorCode" {
			return errorName(int16(v.Int()))
		}
	}
	return fmt.Sprint(v.Interface())
}

func errorName(code int16) string {
	if code == 0 {
		return "NONE"
	}
	if e := kerr.TypedErrorForCode(code); e != nil {
		return e.Message
	}
	return strconv.Itoa(int(code))
}

// scenarioProperties are the broker properties of a scenario that sets none: those of Apache
// Kafka, but with short sessions allowed, small groups and no first rebalance delay.
var scenarioProperties = map[string]string{
	"group.initial.rebalance.delay.ms":    "0",
	"group.min.session.timeout.ms":        "1000",
	"group.max.session.timeout.ms":        "1800000",
	"group.max.size":                      "4",
	"offset.metadata.max.bytes":           "4096",
	"offsets.retention.minutes":           "10080",
	"offsets.retention.check.interval.ms": "600000",
}

func (s *scenario) name() string {
	return strings.TrimSuffix(filepath.Base(s.path), ".txt")
}

func splitComma(text string) []string { return strings.Split(text, ",") }
