package config

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Check is a rule for values beyond their kind. It works on the parsed form.
type Check struct {
	words string // completes "must be ...": "of at least 1" after a number, a whole phrase otherwise
	ok    func(value string) bool
}

// String is the rule in words, for documentation.
func (c Check) String() string { return c.words }

func number(value string) float64 {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return 0 // the kind was checked before
	}
	return f
}

func format(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func atLeast(low float64) Check {
	return Check{"of at least " + format(low), func(v string) bool { return number(v) >= low }}
}

func between(low, high float64) Check {
	return Check{
		fmt.Sprintf("from %s to %s", format(low), format(high)),
		func(v string) bool { return number(v) >= low && number(v) <= high },
	}
}

func betweenOr(low, high, also float64) Check {
	c := between(low, high)
	return Check{c.words + " or " + format(also), func(v string) bool { return number(v) == also || c.ok(v) }}
}

func oneOf(values ...string) Check {
	return Check{orList(values), func(v string) bool { return slices.Contains(values, v) }}
}

func oneOfFold(values ...string) Check {
	return Check{orList(values), func(v string) bool {
		return slices.ContainsFunc(values, func(s string) bool { return strings.EqualFold(s, v) })
	}}
}

func orList(values []string) string {
	if len(values) == 1 {
		return values[0]
	}
	return strings.Join(values[:len(values)-1], ", ") + " or " + values[len(values)-1]
}

func listOf(values ...string) Check {
	return Check{"a list of " + orList(values) + ", each at most once", func(v string) bool {
		items := splitList(v)
		for i, item := range items {
			if !slices.Contains(values, item) || slices.Contains(items[:i], item) {
				return false
			}
		}
		return true
	}}
}

func throttledReplicas() Check {
	pairs := regexp.MustCompile(`^(\*|[0-9]+:[0-9]+(,[0-9]+:[0-9]+)*)?$`)
	return Check{"* or a list of partition:broker pairs", pairs.MatchString}
}

func shareOffsetReset() Check {
	period := regexp.MustCompile(`^by_duration:P([0-9]+D)?(T([0-9]+H)?([0-9]+M)?([0-9]+(\.[0-9]+)?S)?)?$`)
	return Check{"earliest, latest or by_duration:PERIOD (such as by_duration:PT1H)", func(v string) bool {
		return v == "earliest" || v == "latest" || period.MatchString(v)
	}}
}

func listenerList() Check {
	return Check{"a list of NAME://HOST:PORT", func(v string) bool {
		names := map[string]bool{}
		for _, item := range splitList(v) {
			l, err := parseListener(item)
			if err != nil || names[l.Name] {
				return false
			}
			names[l.Name] = true
		}
		return len(names) > 0
	}}
}

func oneDirectory() Check {
	return Check{"exactly one directory (Klamm keeps its data in one)", func(v string) bool { return len(splitList(v)) <= 1 }}
}

func bothRoles() Check {
	return Check{"broker,controller (Klamm is both in one process)", func(v string) bool {
		items := splitList(v)
		return len(items) == 2 && slices.Contains(items, "broker") && slices.Contains(items, "controller")
	}}
}

func oneVoter() Check {
	return Check{"at most one id@host:port (this Klamm is its only controller)", func(v string) bool { return len(splitList(v)) <= 1 }}
}

// Listener is one address of listeners or advertised.listeners.
type Listener struct {
	Name     string // upper case
	Host     string // empty for all interfaces
	Port     int32  // 0 picks a free one
	Protocol string // PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
}

// String is the form of the property.
func (l Listener) String() string {
	return l.Name + "://" + net.JoinHostPort(l.Host, strconv.Itoa(int(l.Port)))
}

func parseListener(item string) (Listener, error) {
	name, address, ok := strings.Cut(item, "://")
	if !ok || name == "" {
		return Listener{}, fmt.Errorf("%q is not of the form NAME://HOST:PORT", item)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return Listener{}, fmt.Errorf("%q is not of the form NAME://HOST:PORT", item)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return Listener{}, fmt.Errorf("%q has no port from 0 to 65535", item)
	}
	return Listener{Name: strings.ToUpper(name), Host: host, Port: int32(n)}, nil
}
