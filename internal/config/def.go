// Package config is the one table of broker, topic and group properties under Kafka's names. It
// feeds parsing, DescribeConfigs, documentation and the explorer.
package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the type of a property's value.
type Kind int8

// Kinds, as Kafka's ConfigDef has them.
const (
	Int Kind = iota
	Short
	Long
	Bool
	String
	List
	Double
	Class
	Password
)

// KafkaType is the number that DescribeConfigs uses for the kind.
func (k Kind) KafkaType() int8 {
	switch k {
	case Bool:
		return 1
	case String:
		return 2
	case Int:
		return 3
	case Short:
		return 4
	case Long:
		return 5
	case Double:
		return 6
	case List:
		return 7
	case Class:
		return 8
	case Password:
		return 9
	}
	return 0
}

// Scope says what a property belongs to.
type Scope int8

// Scopes of properties.
const (
	ScopeBroker Scope = iota
	ScopeTopic
	ScopeGroup
)

func (s Scope) String() string {
	switch s {
	case ScopeTopic:
		return "topic"
	case ScopeGroup:
		return "group"
	}
	return "broker"
}

// Importance is Kafka's rank of a property.
type Importance int8

// Ranks of properties.
const (
	Low Importance = iota
	Medium
	High
)

// Dynamic says whether a broker property may change while the broker runs.
type Dynamic int8

// Ways to change a broker property.
const (
	ReadOnly    Dynamic = iota
	PerBroker           // on one broker
	ClusterWide         // on one broker or for all
)

// Status says what Klamm does with a property.
type Status int8

// Statuses. Accepted properties have no effect, for the reason given; Refused ones may only be
// set to their default, because another value would promise what Klamm does not do.
const (
	Supported Status = iota
	Accepted
	Refused
)

// Def describes one property.
type Def struct {
	Name       string
	Kind       Kind
	Default    string
	Null       bool // the default is null; Default is then empty
	Scope      Scope
	Synonyms   []SynonymOf // broker properties that give a topic's or group's default, the first that is set wins
	Check      Check       // beyond the kind; the zero value accepts everything
	Doc        string
	Importance Importance
	Dynamic    Dynamic // of broker properties
	Internal   bool    // not shown by DescribeConfigs
	Status     Status
	Reason     string // why Accepted has no effect or Refused is refused
}

// Sensitive tells whether the value must never be shown.
func (d Def) Sensitive() bool { return d.Kind == Password }

// SynonymOf is a broker property whose value, multiplied by Factor, is the default.
type SynonymOf struct {
	Name   string
	Factor int64
}

func synonyms(s ...SynonymOf) []SynonymOf { return s }

func same(name string) SynonymOf    { return SynonymOf{name, 1} }
func minutes(name string) SynonymOf { return SynonymOf{name, 60_000} }
func hours(name string) SynonymOf   { return SynonymOf{name, 3_600_000} }

// Error says in one sentence what is wrong with a property.
type Error struct {
	Name    string
	Message string
}

func (e *Error) Error() string { return e.Message }

// codeInvalidConfig is Kafka's INVALID_CONFIG.
const codeInvalidConfig = 40

// KafkaCode is INVALID_CONFIG.
func (e *Error) KafkaCode() int16 { return codeInvalidConfig }

// Parse checks value and returns it in the form in which Kafka shows it: trimmed, booleans in
// lower case, lists without blanks.
func (d Def) Parse(value string) (string, error) {
	parsed, err := d.Kind.parse(value)
	if err == nil && d.Check.ok != nil && !d.Check.ok(parsed) {
		err = errValue
	}
	if err != nil {
		shown := fmt.Sprintf("%q", value)
		if d.Sensitive() {
			shown = "the value given"
		}
		return "", &Error{d.Name, fmt.Sprintf("%s must be %s, not %s", d.Name, d.wants(), shown)}
	}
	if d.Status == Refused && parsed != d.Default {
		return "", &Error{d.Name, fmt.Sprintf("%s=%s is refused: %s", d.Name, parsed, d.Reason)}
	}
	return parsed, nil
}

// wants says in words what a value must be.
func (d Def) wants() string {
	kind := map[Kind]string{
		Int: "a whole number", Short: "a whole number", Long: "a whole number", Double: "a number",
		Bool: "true or false", String: "a text", List: "a list separated by commas", Class: "a class name", Password: "a text",
	}[d.Kind]
	if d.Check.words == "" {
		return kind
	}
	switch d.Kind {
	case Int, Short, Long, Double:
		return kind + " " + d.Check.words
	}
	return d.Check.words
}

var errValue = fmt.Errorf("value out of range")

func (k Kind) parse(value string) (string, error) {
	trimmed := strings.TrimSpace(value)
	switch k {
	case Int:
		return parseNumber(trimmed, 32)
	case Short:
		return parseNumber(trimmed, 16)
	case Long:
		return parseNumber(trimmed, 64)
	case Double:
		if _, err := strconv.ParseFloat(trimmed, 64); err != nil {
			return "", errValue
		}
	case Bool:
		if lower := strings.ToLower(trimmed); lower == "true" || lower == "false" {
			return lower, nil
		}
		return "", errValue
	case List:
		return strings.Join(splitList(trimmed), ","), nil
	case Password:
		return value, nil
	}
	return trimmed, nil
}

func parseNumber(value string, bits int) (string, error) {
	n, err := strconv.ParseInt(value, 10, bits)
	if err != nil {
		return "", errValue
	}
	return strconv.FormatInt(n, 10), nil
}

func splitList(value string) []string {
	if strings.TrimSpace(value) == "" {
		return nil
	}
	items := strings.Split(value, ",")
	for i := range items {
		items[i] = strings.TrimSpace(items[i])
	}
	return items
}
