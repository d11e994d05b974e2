package explorer

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Embedded is the cluster that runs in this process.
type Embedded struct {
	Name    string // what the page calls it, e.g. "local"
	Address string // host:port of its Kafka listener
}

// Options wires an Explorer.
type Options struct {
	// StateDir keeps the saved clusters (clusters.json); empty keeps them in memory only.
	StateDir string
	// Embedded is the node's own cluster, nil without one. It is dialled like any other.
	Embedded *Embedded
	// Extra clusters for this run only, e.g. from --connection; not saved.
	Extra   []ClusterSettings
	Version string
	Logger  *slog.Logger
	Now     func() time.Time
}

// Explorer is the saved clusters with their connections.
type Explorer struct {
	version string
	log     *slog.Logger
	now     func() time.Time
	store   *store

	mu       sync.Mutex
	clusters []*savedCluster
	problems []Problem
}

// savedCluster is a cluster with its connection. Fields are guarded by Explorer.mu.
type savedCluster struct {
	id       string
	embedded bool
	extra    bool
	settings ClusterSettings
	lastUsed int64
	health   Health
	conn     *Connection
}

// embeddedID is the id of the cluster in this process.
const embeddedID = "local"

// New reads the saved clusters. A state file that cannot be read is put aside and told in Clusters;
// only a state directory that cannot be used at all is an error.
func New(o Options) (*Explorer, error) {
	e := &Explorer{version: o.Version, log: o.Logger, now: o.Now}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	if e.now == nil {
		e.now = time.Now
	}
	if o.Embedded != nil {
		e.clusters = append(e.clusters, &savedCluster{id: embeddedID, embedded: true, settings: ClusterSettings{
			Name: o.Embedded.Name, Bootstrap: []string{o.Embedded.Address},
		}})
	}
	if o.StateDir != "" {
		st, saved, problem, err := openStore(o.StateDir, e.now)
		if err != nil {
			return nil, err
		}
		e.store = st
		if problem != nil {
			e.log.Warn(problem.Title, "detail", problem.Detail)
			e.problems = append(e.problems, *problem)
		}
		for _, s := range saved {
			e.clusters = append(e.clusters, &savedCluster{id: e.freeID(s.ID), settings: s.Settings, lastUsed: s.LastUsed})
		}
	}
	for _, s := range o.Extra {
		if _, err := Connect(s, ConnectOptions{}); err != nil {
			return nil, err
		}
		e.clusters = append(e.clusters, &savedCluster{id: e.freeID(slug(s.Name)), extra: true, settings: s})
	}
	return e, nil
}

// Close ends all connections.
func (e *Explorer) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.clusters {
		if s.conn != nil {
			s.conn.Close()
		}
	}
}

// Info tells what this Klamm is.
func (e *Explorer) Info() Info {
	e.mu.Lock()
	defer e.mu.Unlock()
	info := Info{Product: "Klamm", Version: e.version}
	if len(e.clusters) > 0 && e.clusters[0].embedded {
		info.Embedded = e.clusters[0].id
	}
	return info
}

// Clusters lists the saved clusters from memory; none is contacted.
func (e *Explorer) Clusters() ClusterList {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := ClusterList{Clusters: []Cluster{}, Problems: slices.Clone(e.problems)}
	for _, s := range e.clusters {
		list.Clusters = append(list.Clusters, s.view())
	}
	if list.Problems == nil {
		list.Problems = []Problem{}
	}
	return list
}

// view needs Explorer.mu.
func (s *savedCluster) view() Cluster {
	c := Cluster{ID: s.id, Embedded: s.embedded, Settings: s.settings, LastUsed: s.lastUsed, Health: s.health, Security: "PLAINTEXT"}
	if c.Health.State == "" {
		c.Health.State = "unknown"
	}
	if p := strings.ToUpper(s.settings.Properties["security.protocol"]); p != "" {
		c.Security = p
	}
	c.Settings.Bootstrap = slices.Clone(s.settings.Bootstrap)
	c.Settings.Properties = make(map[string]string, len(s.settings.Properties))
	for name, value := range s.settings.Properties {
		if isSecret(name, value) && value != "" {
			value = maskedSecret
		}
		c.Settings.Properties[name] = value
	}
	return c
}

// AddCluster saves a cluster without contacting it.
func (e *Explorer) AddCluster(s ClusterSettings) (Cluster, error) {
	if _, err := Connect(s, ConnectOptions{}); err != nil {
		return Cluster{}, err
	}
	for name, value := range s.Properties {
		if isSecret(name, value) && value == maskedSecret {
			return Cluster{}, invalidSetting(name, "it is the mask of a stored secret", "Type the secret.")
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	added := &savedCluster{id: e.freeID(slug(s.Name)), settings: s}
	e.clusters = append(e.clusters, added)
	if err := e.save(); err != nil {
		e.clusters = e.clusters[:len(e.clusters)-1]
		return Cluster{}, err
	}
	return added.view(), nil
}

// UpdateCluster replaces the settings of a cluster and closes its old connection.
func (e *Explorer) UpdateCluster(id string, s ClusterSettings) (Cluster, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old, err := e.changeableCluster(id)
	if err != nil {
		return Cluster{}, err
	}
	if s, err = withStoredSecrets(s, old.settings); err != nil {
		return Cluster{}, err
	}
	if _, err := Connect(s, ConnectOptions{}); err != nil {
		return Cluster{}, err
	}
	before := old.settings
	old.settings = s
	if err := e.save(); err != nil {
		old.settings = before
		return Cluster{}, err
	}
	old.health = Health{}
	if old.conn != nil {
		old.conn.Close()
		old.conn = nil
	}
	return old.view(), nil
}

// withStoredSecrets puts the stored value in place of each mask, unless it would go to an address that
// it was not typed for: whoever can change a cluster must not learn its password.
func withStoredSecrets(s, stored ClusterSettings) (ClusterSettings, error) {
	props := make(map[string]string, len(s.Properties))
	for name, value := range s.Properties {
		if value == maskedSecret && (isSecret(name, "") || isSecret(name, stored.Properties[name])) {
			if !knownAddresses(s.Bootstrap, stored.Bootstrap) {
				return s, invalidSetting(name, "its stored value would be sent to another address", "Type the secret again.")
			}
			value = stored.Properties[name]
		}
		props[name] = value
	}
	s.Properties = props
	return s, nil
}

// knownAddresses tells whether every address is among those stored.
func knownAddresses(addresses, stored []string) bool {
	wanted, err := parseBootstrap(addresses)
	known, storedErr := parseBootstrap(stored)
	return err == nil && storedErr == nil && !slices.ContainsFunc(wanted, func(a string) bool { return !slices.Contains(known, a) })
}

// DeleteCluster forgets a cluster.
func (e *Explorer) DeleteCluster(id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	gone, err := e.changeableCluster(id)
	if err != nil {
		return err
	}
	before := e.clusters
	e.clusters = slices.DeleteFunc(slices.Clone(before), func(s *savedCluster) bool { return s == gone })
	if err := e.save(); err != nil {
		e.clusters = before
		return err
	}
	if gone.conn != nil {
		gone.conn.Close()
	}
	return nil
}

// Connection gives the connection of a saved cluster, made when first asked for.
func (e *Explorer) Connection(id string) (*Connection, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s, err := e.find(id)
	if err != nil {
		return nil, err
	}
	s.lastUsed = e.now().UnixMilli()
	if s.conn == nil {
		if s.conn, err = Connect(s.settings, ConnectOptions{Logger: e.log, Now: e.now}); err != nil {
			return nil, err
		}
		s.conn.report = func(h Health) {
			e.mu.Lock()
			defer e.mu.Unlock()
			s.health = h
		}
		s.conn.view = func() Cluster {
			e.mu.Lock()
			defer e.mu.Unlock()
			return s.view()
		}
	}
	return s.conn, nil
}

// find needs mu.
func (e *Explorer) find(id string) (*savedCluster, error) {
	for _, s := range e.clusters {
		if s.id == id {
			return s, nil
		}
	}
	return nil, &Problem{Code: "UNKNOWN_CLUSTER", Title: "There is no saved cluster " + id + ".", Resource: "cluster " + id, Help: "Choose one from the list of clusters, or add it."}
}

// changeableCluster needs mu.
func (e *Explorer) changeableCluster(id string) (*savedCluster, error) {
	s, err := e.find(id)
	if err != nil {
		return nil, err
	}
	switch {
	case s.embedded:
		return nil, &Problem{Code: "EMBEDDED_CLUSTER", Title: "The cluster of this process cannot be changed or removed.", Resource: "cluster " + id, Help: "Its settings are flags of klamm serve."}
	case s.extra:
		return nil, &Problem{Code: "EMBEDDED_CLUSTER", Title: "This cluster was given on the command line.", Resource: "cluster " + id, Help: "Change or remove --connection."}
	}
	return s, nil
}

// save needs mu.
func (e *Explorer) save() error {
	if e.store == nil {
		return nil
	}
	var out []storedCluster
	for _, s := range e.clusters {
		if !s.embedded && !s.extra {
			out = append(out, storedCluster{ID: s.id, Settings: s.settings, LastUsed: s.lastUsed})
		}
	}
	return e.store.write(out)
}

// freeID makes want unique; it needs mu (or no other user yet).
func (e *Explorer) freeID(want string) string {
	id := want
	for n := 2; ; n++ {
		if !slices.ContainsFunc(e.clusters, func(s *savedCluster) bool { return s.id == id }) && id != "" {
			return id
		}
		id = fmt.Sprintf("%s-%d", want, n)
	}
}

// slug makes an id of a name: letters and digits of any script, other runs become one dash.
func slug(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if len(words) == 0 {
		return "cluster"
	}
	s := strings.Join(words, "-")
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40])
	}
	return s
}
