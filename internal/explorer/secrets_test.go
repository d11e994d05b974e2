package explorer

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func secured() ClusterSettings {
	return ClusterSettings{Name: "prod", Bootstrap: []string{"kafka-1", "kafka-2:9093"}, Properties: map[string]string{
		"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p",
		"sasl.oauthbearer.client.secret": "s", "basic.auth.user.info": "u:p", "SSL.Truststore.Password": "t",
		"ssl.certificate.pem": "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nx", "client.id": "c",
	}}
}

// Whatever a secret is called, it is answered as a mask, and the mask brings it back.
func TestSecretsAreMasked(t *testing.T) {
	e, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.AddCluster(secured())
	if err != nil {
		t.Fatal(err)
	}
	want := secured().Properties
	for _, name := range []string{"sasl.password", "sasl.oauthbearer.client.secret", "basic.auth.user.info", "SSL.Truststore.Password", "ssl.certificate.pem"} {
		want[name] = maskedSecret
	}
	if diff := cmp.Diff(want, c.Settings.Properties); diff != "" {
		t.Error(diff)
	}
	if _, err := e.UpdateCluster(c.ID, c.Settings); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(secured().Properties, e.clusters[0].settings.Properties); diff != "" {
		t.Error(diff)
	}
}

// A stored secret stays with the addresses it was typed for.
func TestSecretsStayWithTheirAddresses(t *testing.T) {
	for _, c := range []struct {
		name      string
		bootstrap []string
		refused   bool
	}{
		{"the same in other words", []string{"kafka-2:9093,kafka-1:9092"}, false},
		{"fewer", []string{"kafka-1"}, false},
		{"one more", []string{"kafka-1", "kafka-3"}, true},
		{"another port", []string{"kafka-1:9999"}, true},
	} {
		e, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		saved, err := e.AddCluster(secured())
		if err != nil {
			t.Fatal(err)
		}
		saved.Settings.Bootstrap = c.bootstrap
		_, err = e.UpdateCluster(saved.ID, saved.Settings)
		var p *Problem
		if errors.As(err, &p) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
		saved.Settings.Properties = secured().Properties
		if _, err := e.UpdateCluster(saved.ID, saved.Settings); err != nil {
			t.Errorf("%s, with the secrets typed again: %v", c.name, err)
		}
	}
}

// A certificate is read from a file only: a device may have no end.
func TestCertificatesAreFiles(t *testing.T) {
	for _, path := range []string{os.DevNull, t.TempDir(), filepath.Join(t.TempDir(), "none.pem")} {
		_, err := parseSecurity(map[string]string{"security.protocol": "SSL", "ssl.ca.location": path})
		var p *Problem
		if !errors.As(err, &p) || p.Code != "INVALID_SETTINGS" {
			t.Errorf("%s: %v", path, err)
		}
	}
}
