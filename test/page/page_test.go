// Package page drives the explorer with Chromium: its own broker's page, and Apache Kafka's.
package page

import (
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"klamm/test/harness"
)

// flow runs a browser script (test/browser) against an explorer; each of its steps is a case.
func flow(t *testing.T, script string, least int, url, bootstrap, shots string) {
	t.Helper()
	if _, err := os.Stat("/usr/bin/chromium"); err != nil && os.Getenv("CHROMIUM") == "" {
		t.Fatal("Chromium is not installed: run `make test-deps`")
	}
	t.Setenv("KLAMM_URL", url)
	t.Setenv("KLAMM_BOOTSTRAP", bootstrap)
	t.Setenv("KLAMM_SHOTS", shots)
	harness.Script(t, least, "node", filepath.Join(harness.Root(t), "test", "browser", script))
}

func shotsDir(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(harness.Root(t), "build", "screenshots", name)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOnKlamm(t *testing.T) {
	k := harness.Start(t, harness.Options{DataDir: harness.KeptDir(t, "page"), HTTP: "localhost:0"})
	t.Run("flow", func(t *testing.T) { flow(t, "flow.mjs", 17, k.URL, k.Addr, shotsDir(t, "klamm")) })
	t.Run("states", func(t *testing.T) { flow(t, "states.mjs", 15, k.URL, k.Addr, shotsDir(t, "states")) })
	k.Stop(t)
	t.Run("outage", func(t *testing.T) { // the script starts and kills its own broker
		t.Setenv("KLAMM_BIN", harness.Binary(t))
		flow(t, "outage.mjs", 5, "", "", shotsDir(t, "outage"))
	})
}

func TestOnKafka(t *testing.T) {
	kafka := harness.StartKafka(t, harness.KeptDir(t, "page-kafka"))
	bootstrap := "127.0.0.1:" + kafka.Port
	explorer := harness.StartExplorer(t, bootstrap)
	flow(t, "flow.mjs", 17, explorer.URL, bootstrap, shotsDir(t, "kafka"))
	explorer.Stop(t)
}

// TestScreenshots looks at what TestOnKlamm has left: light, dark and Russian at a width of 1280,
// and the picture in the README.
func TestScreenshots(t *testing.T) {
	root := harness.Root(t)
	for name, pattern := range map[string]string{"light": `light-1280`, "dark": `dark-1280`, "Russian": `ru-1280`} {
		t.Run(name, func(t *testing.T) {
			matching := 0
			files, err := filepath.Glob(filepath.Join(root, "build", "screenshots", "klamm", "*.png"))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if regexp.MustCompile(pattern).MatchString(filepath.Base(file)) {
					matching++
					if width := widthOf(t, file); width != 1280 {
						t.Errorf("%s is %d wide", file, width)
					}
				}
			}
			if matching == 0 {
				t.Errorf("none of %d screenshots is named %s", len(files), pattern)
			}
		})
	}
	t.Run("README", func(t *testing.T) {
		readme, err := os.ReadFile(filepath.Join(root, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		picture := regexp.MustCompile(`!\[[^\]]*\]\(([^)]+\.png)\)`).FindStringSubmatch(string(readme))
		if picture == nil {
			t.Fatal("README.md shows no picture")
		}
		if width := widthOf(t, filepath.Join(root, filepath.FromSlash(strings.TrimSpace(picture[1])))); width < 1000 {
			t.Errorf("the picture is only %d wide", width)
		}
	})
}

func widthOf(t *testing.T, file string) int {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	config, err := png.DecodeConfig(f)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return config.Width
}
