package config

// Synonym is one place that a value may come from.
type Synonym struct {
	Name   string
	Value  string
	Null   bool // sensitive
	Source Source
}

// Entry is one property as DescribeConfigs shows it.
type Entry struct {
	Name      string
	Value     *string // nil when null or sensitive
	Source    Source
	Sensitive bool
	ReadOnly  bool
	Kind      Kind
	Synonyms  []Synonym // strongest first
	Doc       string
}

// IsDefault tells whether the value was not set on the resource itself.
func (e Entry) IsDefault() bool { return e.Source == SourceDefault }

// DescribeTopic lists every property of a topic with these overrides, sorted by name.
func (b *Broker) DescribeTopic(overrides map[string]string) []Entry {
	return b.describe(ScopeTopic, overrides, SourceTopic)
}

// DescribeGroup lists every property of a group with these overrides, sorted by name.
func (b *Broker) DescribeGroup(overrides map[string]string) []Entry {
	return b.describe(ScopeGroup, overrides, SourceGroup)
}

func (b *Broker) describe(scope Scope, overrides map[string]string, own Source) []Entry {
	var out []Entry
	for _, d := range definitions().scopes[scope] {
		_, overridden := overrides[d.Name]
		if d.Internal && !overridden {
			continue
		}
		e := Entry{Name: d.Name, Kind: d.Kind, Doc: d.Doc, Sensitive: d.Sensitive(), Source: SourceDefault}
		value, ok := b.effective(d, overrides)
		if ok && !e.Sensitive {
			e.Value = &value
		}
		if overridden {
			e.Synonyms = append(e.Synonyms, Synonym{Name: d.Name, Value: value, Null: e.Sensitive, Source: own})
		}
		switch {
		case len(d.Synonyms) > 0:
			e.Synonyms = append(e.Synonyms, b.synonymsOf(d.Synonyms[0].Name)...)
		case scope == ScopeGroup: // Kafka names the default of a group itself
			e.Synonyms = append(e.Synonyms, Synonym{Name: d.Name, Value: d.Default, Source: SourceDefault})
		}
		if len(e.Synonyms) > 0 {
			e.Source = e.Synonyms[0].Source
		}
		out = append(out, e)
	}
	return out
}

// brokerSynonyms are the broker properties that stand in for another, the strongest first
// (Kafka's DynamicBrokerConfig.brokerConfigSynonyms).
func brokerSynonyms(name string) []string {
	switch name {
	case "log.roll.ms":
		return []string{name, "log.roll.hours"}
	case "log.roll.jitter.ms":
		return []string{name, "log.roll.jitter.hours"}
	case "log.flush.interval.ms":
		return []string{name, "log.flush.scheduler.interval.ms"}
	case "log.retention.ms":
		return []string{name, "log.retention.minutes", "log.retention.hours"}
	case "log.retention.minutes":
		return []string{name, "log.retention.hours"}
	}
	return []string{name}
}

// synonymsOf lists where a broker property gets its value from. Like Kafka it names stand-ins only
// when the property itself has a value somewhere.
func (b *Broker) synonymsOf(name string) []Synonym {
	var all []Synonym
	first := -1
	add := func(candidate, value string, source Source) {
		if candidate == name && first < 0 {
			first = len(all)
		}
		d, _ := Find(ScopeBroker, candidate)
		s := Synonym{Name: candidate, Value: value, Source: source}
		if d.Sensitive() {
			s.Value, s.Null = "", true
		}
		all = append(all, s)
	}
	names := brokerSynonyms(name)
	for _, layer := range b.layers() {
		for _, candidate := range names {
			if value, ok := layer.values[candidate]; ok {
				add(candidate, value, layer.source)
			}
		}
	}
	for _, candidate := range names {
		if d, _ := Find(ScopeBroker, candidate); !d.Null {
			add(candidate, d.Default, SourceDefault)
		}
	}
	if first < 0 {
		return nil
	}
	return all[first:]
}

// DescribeBroker lists every property of this broker, sorted by name.
func (b *Broker) DescribeBroker() []Entry {
	var out []Entry
	for _, d := range definitions().scopes[ScopeBroker] {
		if d.Internal && !b.IsSet(d.Name) {
			continue
		}
		e := Entry{
			Name: d.Name, Kind: d.Kind, Doc: d.Doc, Sensitive: d.Sensitive(), ReadOnly: d.Dynamic == ReadOnly,
			Source: SourceDefault, Synonyms: b.synonymsOf(d.Name),
		}
		if value, ok := b.Lookup(d.Name); ok && !e.Sensitive {
			e.Value = &value
		}
		if len(e.Synonyms) > 0 {
			e.Source = e.Synonyms[0].Source
		}
		out = append(out, e)
	}
	return out
}

// DescribeClusterDefaults lists the dynamic defaults of the cluster, sorted by name: what
// DescribeConfigs answers for the broker with the empty name.
func (b *Broker) DescribeClusterDefaults() []Entry {
	var out []Entry
	for _, e := range b.DescribeBroker() {
		value, ok := b.clusterDefaults[e.Name]
		if !ok {
			continue
		}
		e.Source, e.Value, e.Synonyms = SourceDynamicDefaultBroker, nil, nil
		s := Synonym{Name: e.Name, Source: SourceDynamicDefaultBroker, Null: e.Sensitive}
		if !e.Sensitive {
			e.Value, s.Value = &value, value
		}
		e.Synonyms = []Synonym{s}
		out = append(out, e)
	}
	return out
}
