package config

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Why properties have no effect, or may not be set.
const (
	acceptThreads      = "Klamm has no thread pools to size"
	acceptPurgatory    = "waiting requests need no clean-up in Klamm"
	acceptCluster      = "Klamm runs as a single node"
	acceptCleaner      = "logs are not compacted yet"
	acceptRemote       = "there is no remote storage"
	acceptSecurity     = "no listener uses encryption or logins yet"
	acceptJava         = "Klamm cannot load Java classes"
	acceptGroups       = "only classic groups are served yet"
	acceptTransactions = "transactions are not served yet"
	acceptQuotas       = "quotas are not enforced yet"
	acceptTelemetry    = "client metrics are not collected"
	acceptUnstable     = "only released versions are served"
	acceptListeners    = "all listeners open when the broker is ready"
	acceptNoNoOp       = "an idle controller writes nothing"
	acceptOneDir       = "there is one data directory"
	acceptRemoved      = "Kafka removed it in version 4"

	refuseAuthorizer = "this Klamm does not check permissions, so everything would be allowed; leave it empty"
	refuseJavaClass  = "Klamm cannot load Java classes, so the rule would not be enforced; leave it unset"
	refuseProviders  = "Klamm cannot load Java classes, so ${...} would not be resolved; write the values themselves"
	refuseRemote     = "this Klamm has no remote storage; leave it false"
)

// table holds all definitions. It is built once and never changed.
type table struct {
	scopes [3][]Def // sorted by name
	byName [3]map[string]*Def
}

// definitions builds the table at its first use.
var definitions = sync.OnceValue(func() *table {
	t := &table{}
	t.scopes[ScopeBroker] = slices.Concat(serverDefs(), logDefs(), clusterDefs(), coordinatorDefs(), securityDefs(), remoteDefs())
	t.scopes[ScopeTopic] = topicDefs()
	t.scopes[ScopeGroup] = groupDefs()
	for scope := range t.scopes {
		defs := t.scopes[scope]
		slices.SortFunc(defs, func(a, b Def) int { return strings.Compare(a.Name, b.Name) })
		t.byName[scope] = make(map[string]*Def, len(defs))
		for i := range defs {
			defs[i].Scope = Scope(scope)
			t.byName[scope][defs[i].Name] = &defs[i]
		}
	}
	return t
})

// Defs lists the properties of a scope, sorted by name.
func Defs(scope Scope) []Def { return slices.Clone(definitions().scopes[scope]) }

// Find looks a property up by its exact name.
func Find(scope Scope, name string) (Def, bool) {
	d, ok := definitions().byName[scope][name]
	if !ok {
		return Def{}, false
	}
	return *d, true
}

// CheckTopic says whether a topic property may be set to value; the error is an *Error.
func CheckTopic(name, value string) error { return checkOne(ScopeTopic, name, value) }

// CheckGroup says whether a group property may be set to value; the error is an *Error.
func CheckGroup(name, value string) error { return checkOne(ScopeGroup, name, value) }

// CheckBroker says whether a broker property may have value; the error is an *Error. Whether it
// may change while the broker runs is CheckDynamic's question.
func CheckBroker(name, value string) error {
	if _, ok := removed()[name]; ok {
		return nil
	}
	if base, ok := listenerPrefixed(name); ok {
		return checkOne(ScopeBroker, base, value)
	}
	if isPluginProperty(name) {
		return nil
	}
	return checkOne(ScopeBroker, name, value)
}

// CheckDynamic says whether a broker property may be set to value on a running broker, or for the
// whole cluster; the error is an *Error.
func CheckDynamic(name, value string, clusterDefault bool) error {
	if err := CheckBroker(name, value); err != nil {
		return err
	}
	base := name
	if b, ok := listenerPrefixed(name); ok {
		base = b
	}
	d, ok := Find(ScopeBroker, base)
	switch {
	case !ok || d.Dynamic == ReadOnly:
		return &Error{name, fmt.Sprintf("%s cannot be changed while the broker runs: set it in the configuration file or with --set and restart", name)}
	case clusterDefault && d.Dynamic == PerBroker:
		return &Error{name, fmt.Sprintf("%s can only be set on a single broker, not for the whole cluster", name)}
	}
	return nil
}

func checkOne(scope Scope, name, value string) error {
	d, ok := Find(scope, name)
	if !ok {
		return unknown(scope, name)
	}
	_, err := d.Parse(value)
	return err
}

func unknown(scope Scope, name string) *Error {
	message := fmt.Sprintf("unknown %s property %q", scope, name)
	if near := nearest(scope, name); near != "" {
		message += fmt.Sprintf("; did you mean %s?", near)
	}
	return &Error{name, message}
}

// listenerPrefixed splits listener.name.NAME.PROPERTY, Kafka's form of a property for one listener.
func listenerPrefixed(name string) (base string, ok bool) {
	rest, ok := strings.CutPrefix(name, "listener.name.")
	if !ok {
		return "", false
	}
	_, base, ok = strings.Cut(rest, ".")
	if !ok {
		return "", false
	}
	// With SASL the mechanism stands between: listener.name.NAME.scram-sha-256.sasl.jaas.config.
	if _, known := Find(ScopeBroker, base); !known {
		if _, after, cut := strings.Cut(base, "."); cut {
			if _, known := Find(ScopeBroker, after); known {
				return after, true
			}
		}
	}
	return base, true
}

// isPluginProperty tells properties that belong to Java plug-ins, whose names nobody can check.
func isPluginProperty(name string) bool {
	return strings.HasPrefix(name, "rsm.config.") || strings.HasPrefix(name, "rlmm.config.")
}

// removed are properties that Kafka 4 no longer has; old files still carry them.
func removed() map[string]bool {
	return map[string]bool{
		"zookeeper.connect": true, "zookeeper.connection.timeout.ms": true, "zookeeper.session.timeout.ms": true,
		"zookeeper.max.in.flight.requests": true, "zookeeper.set.acl": true, "zookeeper.metadata.migration.enable": true,
		"inter.broker.protocol.version": true, "log.message.format.version": true, "log.message.downconversion.enable": true,
		"log.message.timestamp.difference.max.ms": true, "broker.id.generation.enable": true, "reserved.broker.max.id": true,
		"control.plane.listener.name": true, "offsets.commit.required.acks": true, "eligible.leader.replicas.enable": true,
		"log.cleaner.max.cleanup.policy": true,
	}
}

// nearest finds the known name that is closest to a mistyped one, or "".
func nearest(scope Scope, name string) string {
	if other := otherScope(scope, name); other != "" {
		return other
	}
	best, bestDistance := "", max(2, len(name)/4)+1
	for _, d := range definitions().scopes[scope] {
		if d.Internal {
			continue
		}
		if n := distance(name, d.Name, bestDistance); n < bestDistance {
			best, bestDistance = d.Name, n
		}
	}
	return best
}

// otherScope maps the name a property has on topics to the one it has on brokers.
func otherScope(scope Scope, name string) string {
	if scope == ScopeBroker {
		if d, ok := Find(ScopeTopic, name); ok && len(d.Synonyms) > 0 {
			return d.Synonyms[0].Name
		}
	}
	if scope == ScopeTopic {
		for _, d := range definitions().scopes[ScopeTopic] {
			for _, s := range d.Synonyms {
				if s.Name == name {
					return d.Name
				}
			}
		}
	}
	return ""
}

// distance is the Levenshtein distance of two names, or limit when it is at least that.
func distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit || len(a) > 256 {
		return limit
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return min(row[len(b)], limit)
}
