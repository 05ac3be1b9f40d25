package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// scene is what a script finds, and what it may ask for.
type scene struct {
	given map[string]any
	acts  map[string]func(json.RawMessage) (any, error)
}

func newScene(s *service) *scene {
	return &scene{
		given: map[string]any{"platform": s.Platform, "agents": s.Agents, "admin": s.Admin, "setupLink": s.SetupLink},
		acts:  map[string]func(json.RawMessage) (any, error){},
	}
}

// on lets the script ask for an act by its name. It runs on the test's own goroutine.
func on[T any](s *scene, name string, act func(T) (any, error)) {
	s.acts[name] = func(with json.RawMessage) (any, error) {
		var of T
		if err := json.Unmarshal(with, &of); err != nil {
			return nil, err
		}
		return act(of)
	}
}

// play has a script drive the browser, and fails the test when it does.
func (s *scene) play(t *testing.T, script string) {
	t.Helper()
	s.given["endpoint"], s.given["chromium"], s.given["shots"] = studio.endpoint, studio.chromium, shots(t)
	wanted := os.Getenv("SVC_SHOTS") != ""
	s.given["pictures"], s.given["everyMode"] = wanted, wanted || soak
	given, err := json.Marshal(s.given)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience())
	defer cancel()
	node := exec.CommandContext(ctx, "node", script, string(given))
	var complaints strings.Builder
	node.Stderr = &complaints
	in, err := node.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	s.converse(t, out, in)
	if err := node.Wait(); err != nil {
		t.Errorf("%s: %v\n%s", script, err, complaints.String())
	}
}

// patience is how long a script may take. In the soak some look at everything that there is.
func patience() time.Duration {
	if soak {
		return 15 * time.Minute
	}
	return 5 * time.Minute
}

// converse answers what the script asks until it says no more.
func (s *scene) converse(t *testing.T, out io.Reader, in io.Writer) {
	t.Helper()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	answers := json.NewEncoder(in)
	for lines.Scan() {
		var asked struct {
			Act  string
			With json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			tell(t, lines.Text())
			continue
		}
		answer := map[string]any{}
		if act, ok := s.acts[asked.Act]; !ok {
			answer["refused"] = "there is no act " + asked.Act
		} else if value, err := act(asked.With); err != nil {
			answer["refused"] = err.Error()
		} else {
			answer["value"] = value
		}
		if err := answers.Encode(answer); err != nil {
			t.Errorf("answer %s: %v", asked.Act, err)
		}
	}
}

// tell logs what a script says besides. A figure, such as "figure typing 12 ms", is told to those who read no logs too.
func tell(t *testing.T, told string) {
	t.Helper()
	t.Log(told)
	if figure, isFigure := strings.CutPrefix(told, "figure "); isFigure {
		name, value, _ := strings.Cut(figure, " ")
		t.Attr(name, value)
	}
}

// shots is where pictures of the pages go.
func shots(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("SVC_SHOTS")
	if folder == "" {
		return t.TempDir()
	}
	path, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
