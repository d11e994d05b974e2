package explorer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

const (
	storeName    = "clusters.json"
	storeVersion = 1
	// maxStateBytes bounds the state file.
	maxStateBytes = 16 << 20
)

// storedCluster is one cluster in the state file.
type storedCluster struct {
	ID       string          `json:"id"`
	Settings ClusterSettings `json:"settings"`
	LastUsed int64           `json:"lastUsed,omitempty,string"`
}

type stateFile struct {
	Version  int             `json:"version"`
	Clusters []storedCluster `json:"clusters"`
}

// store keeps the clusters in one JSON file, readable by its owner only because it holds secrets.
type store struct{ path string }

// openStore reads the state file. One that is newer than this Klamm, or damaged, is renamed (never
// overwritten) and told as a problem.
func openStore(dir string, now func() time.Time) (*store, []storedCluster, *Problem, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, nil, stateProblem(dir, err)
	}
	st := &store{path: filepath.Join(dir, storeName)}
	info, err := os.Stat(st.path)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil, nil, nil
	}
	if err != nil {
		return nil, nil, nil, stateProblem(st.path, err)
	}
	if info.Size() > maxStateBytes {
		return st.putAside(now, fmt.Errorf("it has %d bytes", info.Size()))
	}
	raw, err := os.ReadFile(st.path)
	if err != nil {
		return nil, nil, nil, stateProblem(st.path, err)
	}
	var f stateFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return st.putAside(now, err)
	}
	if f.Version > storeVersion {
		return st.putAside(now, fmt.Errorf("it is of version %d, this Klamm knows %d", f.Version, storeVersion))
	}
	return st, f.Clusters, nil, nil
}

func stateProblem(path string, err error) *Problem {
	return &Problem{
		Code: "STATE_UNUSABLE", Title: "The saved clusters in " + path + " cannot be used.", Detail: err.Error(),
		Help: "Give another directory with --state-dir, or make this one readable and writable.", cause: err,
	}
}

func (st *store) putAside(now func() time.Time, why error) (*store, []storedCluster, *Problem, error) {
	aside := fmt.Sprintf("%s.%s.kept", st.path, now().UTC().Format("20060102T150405"))
	if err := os.Rename(st.path, aside); err != nil {
		return nil, nil, nil, stateProblem(st.path, err)
	}
	return st, nil, &Problem{
		Code: "STATE_PUT_ASIDE", Title: "The saved clusters could not be read and were kept as " + aside + ".", Detail: why.Error(),
		Resource: st.path, Help: "Run the newer Klamm again, or add the clusters anew.",
	}, nil
}

// write replaces the file so that a crash leaves either the old or the new one.
func (st *store) write(clusters []storedCluster) error {
	data, err := json.MarshalIndent(stateFile{Version: storeVersion, Clusters: clusters}, "", "  ")
	if err == nil {
		err = replaceFile(st.path, data)
	}
	if err != nil {
		return stateProblem(st.path, err)
	}
	return nil
}

func replaceFile(path string, data []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), storeName+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // fails after the rename, as it should
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	if runtime.GOOS == "windows" { // cannot sync a directory
		return nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
