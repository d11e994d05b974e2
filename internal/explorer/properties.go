package explorer

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// security is what Kafka client properties say about how to connect.
type security struct {
	protocol  string // PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL
	tls       *tls.Config
	sasl      sasl.Mechanism
	mechanism string
	ignored   []string // properties that have no effect here, sorted
}

// maskedSecret stands for a stored secret in answers; see ClusterSettings.
const maskedSecret = "********"

// isSecret tells which properties are never answered in clear: by their name, those without effect
// here included, and every value that holds a private key, as a certificate chain may.
func isSecret(name, value string) bool {
	name = strings.ToLower(name)
	switch name {
	case "ssl.keystore.key", "ssl.key.pem":
		return true
	}
	for _, word := range []string{"password", "secret", "jaas.config", "user.info"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return strings.Contains(value, "PRIVATE KEY-----")
}

// knownProperties are Kafka's names and, where they differ, librdkafka's.
func knownProperties() []string {
	return []string{
		"security.protocol", "sasl.mechanism", "sasl.mechanisms", "sasl.jaas.config", "sasl.username", "sasl.password",
		"ssl.endpoint.identification.algorithm", "enable.ssl.certificate.verification",
		"ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates", "ssl.ca.location", "ssl.ca.pem",
		"ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.certificate.chain", "ssl.keystore.key",
		"ssl.certificate.location", "ssl.key.location", "ssl.certificate.pem", "ssl.key.pem",
	}
}

// parseSecurity reads client properties. Its errors are Problems with code INVALID_SETTINGS.
func parseSecurity(props map[string]string) (*security, error) {
	s := &security{protocol: strings.ToUpper(props["security.protocol"])}
	if s.protocol == "" {
		s.protocol = "PLAINTEXT"
	}
	known := knownProperties()
	for name := range props {
		if !slices.Contains(known, name) {
			s.ignored = append(s.ignored, name)
		}
	}
	slices.Sort(s.ignored)
	var err error
	switch s.protocol {
	case "PLAINTEXT":
	case "SSL":
		s.tls, err = parseTLS(props)
	case "SASL_PLAINTEXT":
		err = s.parseSASL(props)
	case "SASL_SSL":
		if s.tls, err = parseTLS(props); err == nil {
			err = s.parseSASL(props)
		}
	default:
		err = invalidSetting("security.protocol", "it is "+s.protocol, "Use PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.")
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// ClientOptions are the TLS and SASL options that Kafka or librdkafka client properties ask for; other
// names are ignored. Errors are Problems that name the property.
func ClientOptions(props map[string]string) ([]kgo.Opt, error) {
	s, err := parseSecurity(props)
	if err != nil {
		return nil, err
	}
	return s.options(), nil
}

func (s *security) options() []kgo.Opt {
	var opts []kgo.Opt
	if s.tls != nil {
		opts = append(opts, kgo.DialTLSConfig(s.tls.Clone()))
	}
	if s.sasl != nil {
		opts = append(opts, kgo.SASL(s.sasl))
	}
	return opts
}

func invalidSetting(name, what, help string) error {
	return &Problem{Code: "INVALID_SETTINGS", Title: "The property " + name + " cannot be used: " + what + ".", Resource: "property " + name, Help: help}
}

func (s *security) parseSASL(props map[string]string) error {
	user, pass := props["sasl.username"], props["sasl.password"]
	if jaas := props["sasl.jaas.config"]; jaas != "" {
		options := parseJAAS(jaas)
		user, pass = options["username"], options["password"]
	}
	s.mechanism = props["sasl.mechanism"]
	if s.mechanism == "" {
		s.mechanism = props["sasl.mechanisms"]
	}
	if s.mechanism == "" {
		return invalidSetting("sasl.mechanism", "it is not set", "Use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.")
	}
	switch s.mechanism {
	case "PLAIN":
		s.sasl = plain.Auth{User: user, Pass: pass}.AsMechanism()
	case "SCRAM-SHA-256":
		s.sasl = scram.Auth{User: user, Pass: pass}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		s.sasl = scram.Auth{User: user, Pass: pass}.AsSha512Mechanism()
	default:
		return invalidSetting("sasl.mechanism", s.mechanism+" is not supported", "Use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.")
	}
	if user == "" {
		return invalidSetting("sasl.jaas.config", "it names no user", `Set it to ...LoginModule required username="..." password="...";, or set sasl.username and sasl.password.`)
	}
	return nil
}

// parseJAAS reads the options of a JAAS login module entry: class flag name="value" ... ;
func parseJAAS(text string) map[string]string {
	options := map[string]string{}
	for i := 0; i < len(text); {
		eq := strings.IndexByte(text[i:], '=')
		if eq < 0 {
			break
		}
		fields := strings.Fields(text[i : i+eq])
		value, used := jaasValue(text[i+eq+1:])
		if len(fields) > 0 {
			options[fields[len(fields)-1]] = value
		}
		i += eq + 1 + used
	}
	return options
}

// jaasValue reads a quoted (with backslash escapes) or bare value and tells how many bytes it took.
func jaasValue(text string) (string, int) {
	rest := strings.TrimLeft(text, " \t\r\n")
	lead := len(text) - len(rest)
	if rest == "" || (rest[0] != '"' && rest[0] != '\'') {
		end := strings.IndexAny(rest, " \t\r\n;")
		if end < 0 {
			end = len(rest)
		}
		return rest[:end], lead + end
	}
	quote := rest[0]
	var out strings.Builder
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == quote:
			return out.String(), lead + i + 1
		case rest[i] == '\\' && i+1 < len(rest):
			i++
			out.WriteByte(rest[i])
		default:
			out.WriteByte(rest[i])
		}
	}
	return out.String(), len(text)
}

func parseTLS(props map[string]string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	ca, err := pemProperty(props, "ssl.truststore.certificates", "ssl.ca.pem", "ssl.truststore.location", "ssl.ca.location")
	if err != nil {
		return nil, err
	}
	if ca != nil {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(ca) {
			return nil, invalidSetting("ssl.truststore.location", "it holds no PEM certificate", "Convert a JKS or PKCS12 store: keytool -exportcert -rfc.")
		}
	}
	if err := clientCertificate(c, props); err != nil {
		return nil, err
	}
	skipAll := strings.EqualFold(props["enable.ssl.certificate.verification"], "false")
	algorithm, set := props["ssl.endpoint.identification.algorithm"]
	skipName := set && (algorithm == "" || strings.EqualFold(algorithm, "none"))
	if skipAll || skipName {
		c.InsecureSkipVerify = true // replaced by the check below unless everything is switched off
	}
	if skipName && !skipAll {
		c.VerifyConnection = verifyWithoutName(c.RootCAs)
	}
	return c, nil
}

// verifyWithoutName checks the chain but not that the certificate names the host.
func verifyWithoutName(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errors.New("the broker sent no certificate")
		}
		o := x509.VerifyOptions{Roots: roots, Intermediates: x509.NewCertPool()}
		for _, c := range state.PeerCertificates[1:] {
			o.Intermediates.AddCert(c)
		}
		_, err := state.PeerCertificates[0].Verify(o)
		return err
	}
}

func clientCertificate(c *tls.Config, props map[string]string) error {
	cert, err := pemProperty(props, "ssl.keystore.certificate.chain", "ssl.certificate.pem", "ssl.keystore.location", "ssl.certificate.location")
	if err != nil || cert == nil {
		return err
	}
	key, err := pemProperty(props, "ssl.keystore.key", "ssl.key.pem", "", "ssl.key.location")
	if err != nil {
		return err
	}
	if key == nil {
		key = cert // one PEM file with both
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return invalidSetting("ssl.keystore.location", err.Error(), "Give a PEM certificate chain with its unencrypted PEM key.")
	}
	c.Certificates = []tls.Certificate{pair}
	return nil
}

// maxStoreBytes bounds a certificate file.
const maxStoreBytes = 4 << 20

// pemProperty reads PEM text from an inline property, or else from the file another one names.
// Nil means none is set.
func pemProperty(props map[string]string, inline, inlineAlt, file, fileAlt string) ([]byte, error) {
	for _, name := range []string{inline, inlineAlt} {
		if text := props[name]; name != "" && text != "" {
			return []byte(text), nil
		}
	}
	for _, name := range []string{file, fileAlt} {
		path := props[name]
		if name == "" || path == "" {
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, invalidSetting(name, err.Error(), "Give a PEM file that this process can read.")
		}
		if !info.Mode().IsRegular() { // a device may have no end
			return nil, invalidSetting(name, path+" is no file", "Give a PEM file.")
		}
		if info.Size() > maxStoreBytes {
			return nil, invalidSetting(name, fmt.Sprintf("the file has %d bytes", info.Size()), "Give a PEM file.")
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, invalidSetting(name, err.Error(), "Give a PEM file that this process can read.")
		}
		if !strings.Contains(string(data), "-----BEGIN") {
			return nil, invalidSetting(name, path+" is no PEM file", "JKS and PKCS12 stores cannot be read yet: convert to PEM with keytool or openssl.")
		}
		return data, nil
	}
	return nil, nil
}
