package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Source says where a value comes from; the numbers are DescribeConfigs'.
type Source int8

// Sources of values.
const (
	SourceTopic                Source = 1
	SourceDynamicBroker        Source = 2
	SourceDynamicDefaultBroker Source = 3
	SourceStaticBroker         Source = 4
	SourceDefault              Source = 5
	SourceGroup                Source = 8
)

// Broker is the set of broker properties. It is immutable; readers share it.
type Broker struct {
	// layers from the strongest: this broker's dynamic values, the cluster's dynamic defaults, the
	// static ones of file and command line.
	perBroker, clusterDefaults, static map[string]string
}

// New checks the properties of a server.properties file and those of the command line (sets),
// which win. The error is an *Error: it names a property that is unknown or has a wrong value.
func New(file, sets map[string]string) (*Broker, error) {
	static := make(map[string]string, len(file)+len(sets))
	for _, layer := range []map[string]string{file, sets} {
		for _, name := range slices.Sorted(maps.Keys(layer)) {
			if err := CheckBroker(name, layer[name]); err != nil {
				return nil, err
			}
			static[name] = parsedOrAsIs(name, layer[name])
		}
	}
	b := &Broker{static: static}
	return b, b.checkTogether()
}

func parsedOrAsIs(name, value string) string {
	if d, ok := Find(ScopeBroker, name); ok {
		if parsed, err := d.Parse(value); err == nil {
			return parsed
		}
	}
	return value
}

// WithDynamic returns a copy that has the dynamic defaults of the cluster and the dynamic
// properties of this broker on top of the static ones. Values that do not parse are left out:
// they were checked when they were set, perhaps by a newer version.
func (b *Broker) WithDynamic(clusterDefaults, perBroker map[string]string) *Broker {
	return &Broker{static: b.static, clusterDefaults: valid(clusterDefaults), perBroker: valid(perBroker)}
}

func valid(layer map[string]string) map[string]string {
	out := make(map[string]string, len(layer))
	for name, value := range layer {
		if CheckBroker(name, value) == nil {
			out[name] = parsedOrAsIs(name, value)
		}
	}
	return out
}

// Lookup gives the effective value of a property and whether it has one (null otherwise). It
// panics when the name is not in the table: that is a mistake in the program.
func (b *Broker) Lookup(name string) (value string, ok bool) {
	d, known := Find(ScopeBroker, name)
	if !known {
		panic("config: no broker property " + name)
	}
	if value, _, ok := b.set(name); ok {
		return value, true
	}
	return d.Default, !d.Null
}

// set finds the strongest explicit value.
func (b *Broker) set(name string) (string, Source, bool) {
	for _, layer := range b.layers() {
		if value, ok := layer.values[name]; ok {
			return value, layer.source, true
		}
	}
	return "", 0, false
}

type layer struct {
	values map[string]string
	source Source
}

func (b *Broker) layers() []layer {
	return []layer{
		{b.perBroker, SourceDynamicBroker}, {b.clusterDefaults, SourceDynamicDefaultBroker}, {b.static, SourceStaticBroker},
	}
}

// IsSet tells whether a property was set explicitly, statically or dynamically.
func (b *Broker) IsSet(name string) bool {
	_, _, ok := b.set(name)
	return ok
}

// Long is the effective value of a whole-number property, 0 when it is null.
func (b *Broker) Long(name string) int64 {
	value, _ := b.Lookup(name)
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0 // null: set values were parsed before
	}
	return n
}

// Int is Long for properties of Kafka's type int or short.
func (b *Broker) Int(name string) int { return int(b.Long(name)) }

// Bool is the effective value of a property that is true or false.
func (b *Broker) Bool(name string) bool {
	value, _ := b.Lookup(name)
	return value == "true"
}

// Double is the effective value of a fractional property.
func (b *Broker) Double(name string) float64 {
	value, _ := b.Lookup(name)
	return number(value)
}

// String is the effective value of a text property, empty when it is null.
func (b *Broker) String(name string) string {
	value, _ := b.Lookup(name)
	return value
}

// List is the effective value of a list property.
func (b *Broker) List(name string) []string {
	value, _ := b.Lookup(name)
	return splitList(value)
}

// NodeID is node.id, or the old broker.id when only that is set.
func (b *Broker) NodeID() int32 {
	if !b.IsSet("node.id") && b.IsSet("broker.id") && b.Long("broker.id") >= 0 {
		return int32(b.Long("broker.id"))
	}
	return int32(b.Long("node.id"))
}

// LogDir is the data directory that log.dirs or log.dir name, empty when neither is set.
func (b *Broker) LogDir() string {
	for _, name := range []string{"log.dirs", "log.dir"} {
		if dirs := b.List(name); len(dirs) > 0 {
			return dirs[0]
		}
	}
	return ""
}

// Listeners are the addresses for clients to listen on; those of controllers are left out.
func (b *Broker) Listeners() []Listener { return b.clientListeners("listeners") }

// AdvertisedListeners are the addresses that clients are told, nil when unset: each client is then
// told the address it connected to.
func (b *Broker) AdvertisedListeners() []Listener { return b.clientListeners("advertised.listeners") }

func (b *Broker) clientListeners(property string) []Listener {
	protocols := b.protocols()
	controllers := b.List("controller.listener.names")
	var out []Listener
	for _, item := range b.List(property) {
		l, err := parseListener(item)
		if err != nil || slices.ContainsFunc(controllers, func(c string) bool { return strings.EqualFold(c, l.Name) }) {
			continue // the form was checked before
		}
		l.Protocol = protocols[l.Name]
		out = append(out, l)
	}
	return out
}

// protocols maps listener names to security protocols.
func (b *Broker) protocols() map[string]string {
	out := map[string]string{"PLAINTEXT": "PLAINTEXT", "SSL": "SSL", "SASL_PLAINTEXT": "SASL_PLAINTEXT", "SASL_SSL": "SASL_SSL"}
	for _, item := range b.List("listener.security.protocol.map") {
		if name, protocol, ok := strings.Cut(item, ":"); ok {
			out[strings.ToUpper(strings.TrimSpace(name))] = strings.ToUpper(strings.TrimSpace(protocol))
		}
	}
	return out
}

// checkTogether applies the rules that span several properties.
func (b *Broker) checkTogether() error {
	listeners := b.Listeners()
	if len(listeners) == 0 {
		return &Error{"listeners", "listeners names no address for clients: add one such as PLAINTEXT://localhost:9092"}
	}
	for _, l := range listeners {
		switch l.Protocol {
		case "PLAINTEXT":
		case "":
			return &Error{"listeners", fmt.Sprintf("listener %s has no entry in listener.security.protocol.map: add %s:PLAINTEXT there", l, l.Name)}
		default:
			return &Error{"listeners", fmt.Sprintf("listener %s asks for %s, which this Klamm cannot serve yet: use PLAINTEXT", l, l.Protocol)}
		}
	}
	for _, l := range b.AdvertisedListeners() {
		if !slices.ContainsFunc(listeners, func(o Listener) bool { return o.Name == l.Name }) {
			return &Error{"advertised.listeners", fmt.Sprintf("advertised.listeners names %s, but listeners has no %s", l, l.Name)}
		}
		if l.Host == "" || l.Host == "0.0.0.0" || l.Host == "::" {
			return &Error{"advertised.listeners", fmt.Sprintf("advertised listener %s must name a host that clients can reach", l)}
		}
	}
	for _, name := range []string{"log.retention.ms", "log.retention.minutes", "log.retention.hours"} {
		if value, ok := b.Lookup(name); ok && (value == "0" || number(value) < -1) {
			return &Error{name, fmt.Sprintf("%s must be -1 (for ever) or at least 1, not %s", name, value)}
		}
	}
	return b.topicDefaults(nil).checkTogether()
}

// Warnings are sentences about properties that were set but have no effect.
func (b *Broker) Warnings() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(b.static)) {
		d, ok := Find(ScopeBroker, name)
		switch {
		case removed()[name]:
			out = append(out, fmt.Sprintf("%s has no effect: %s", name, acceptRemoved))
		case !ok && isPluginProperty(name):
			out = append(out, fmt.Sprintf("%s has no effect: %s", name, acceptJava))
		case !ok:
			out = append(out, fmt.Sprintf("%s has no effect: properties of single listeners concern encryption and logins", name))
		case d.Status == Accepted && b.static[name] != d.Default:
			out = append(out, fmt.Sprintf("%s has no effect: %s", name, d.Reason))
		}
	}
	return out
}
