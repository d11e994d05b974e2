package cli

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// clientFlags are those of every command that talks to a cluster.
type clientFlags struct {
	bootstrap     string
	properties    []string
	commandConfig string
	timeout       time.Duration
}

func (f *clientFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVarP(&f.bootstrap, "bootstrap", "b", defaultBroker, "brokers to ask first, `HOST:PORT,...`")
	flags.StringArrayVarP(&f.properties, "property", "X", nil, "`key=value`: a Kafka or librdkafka client property; repeatable (default none)")
	flags.StringVar(&f.commandConfig, "command-config", "", "properties `FILE` of the client; -X wins (default none)")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "how long to wait for the cluster")
}

// client is a connected client.
type client struct {
	*kgo.Client
	admin     *kadm.Client
	addresses []string
	timeout   time.Duration
}

// connect makes a client and asks one broker for a sign of life, so that a wrong address is told
// at once. Further options of the command win over properties.
func (f clientFlags) connect(c *cobra.Command, s Streams, options ...kgo.Opt) (*client, error) {
	props, err := f.allProperties(s)
	if err != nil {
		return nil, err
	}
	addresses, err := f.addresses(c, props)
	if err != nil {
		return nil, err
	}
	opts, err := clientOptions(props)
	if err != nil {
		return nil, err
	}
	base := []kgo.Opt{
		kgo.SeedBrokers(addresses...), kgo.ClientID("klamm"), kgo.SoftwareNameAndVersion("klamm", Version), kgo.DisableClientMetrics(),
		kgo.DialTimeout(min(f.timeout, 10*time.Second)), kgo.RetryTimeout(f.timeout), kgo.MetadataMinAge(100 * time.Millisecond),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
	}
	k, err := kgo.NewClient(slices.Concat(base, opts, options)...)
	if err != nil {
		return nil, usagef("these client properties do not fit together: %v", err)
	}
	cl := &client{Client: k, admin: kadm.NewClient(k), addresses: addresses, timeout: f.timeout}
	cl.admin.SetTimeoutMillis(int32(min(f.timeout, 24*time.Hour) / time.Millisecond))
	ctx, cancel := context.WithTimeout(c.Context(), f.timeout)
	defer cancel()
	if err := k.Ping(ctx); err != nil {
		k.Close()
		return nil, cl.explain(c.Context(), err)
	}
	return cl, nil
}

// within bounds one step of a command by --timeout.
func (cl *client) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, cl.timeout)
}

// allProperties merges --command-config and -X. Unknown names in the file belong to other
// programs and are only mentioned; after -X they are a mistake.
func (f clientFlags) allProperties(s Streams) (map[string]string, error) {
	props := map[string]string{}
	if f.commandConfig != "" {
		file, err := readProperties("the file of --command-config", f.commandConfig)
		if err != nil {
			return nil, err
		}
		for name, value := range file {
			if !isClientProperty(name) {
				fmt.Fprintf(s.Err, "klamm: %s: %s has no effect here\n", f.commandConfig, name)
				continue
			}
			props[name] = value
		}
	}
	own, err := keyValues("-X", f.properties)
	if err != nil {
		return nil, err
	}
	for name, value := range own {
		if !isClientProperty(name) {
			return nil, usagef("-X %s is not a client property that klamm knows", name)
		}
		props[name] = value
	}
	return props, nil
}

func (f clientFlags) addresses(c *cobra.Command, props map[string]string) ([]string, error) {
	list := f.bootstrap
	if !c.Flags().Changed("bootstrap") {
		for _, name := range []string{"metadata.broker.list", "bootstrap.servers"} {
			if value := props[name]; value != "" {
				list = value
			}
		}
	}
	var out []string
	for a := range strings.SplitSeq(list, ",") {
		a = strings.TrimSpace(a)
		if _, rest, ok := strings.Cut(a, "://"); ok {
			a = rest // as in listeners
		}
		if a == "" {
			continue
		}
		host, port, err := net.SplitHostPort(a)
		if err != nil {
			host, port = strings.Trim(a, "[]"), "9092"
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil || host == "" || strings.ContainsAny(host, " /?#@") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return nil, usagef("the address %q is not HOST:PORT", a)
		}
		out = append(out, net.JoinHostPort(host, port))
	}
	if len(out) == 0 {
		return nil, usagef("no broker is named: give -b HOST:PORT")
	}
	return out, nil
}
