package crash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"svc.dev/svc/internal/bundle"
	"svc.dev/svc/internal/bundle/bundletest"
	"svc.dev/svc/internal/critic"
	"svc.dev/svc/internal/sqldb/sqldbtest"
	"svc.dev/svc/ts"
)

// refund is the workflow of examples/project.
const refund = "refund"

// ofProject are scripts in TypeScript: the example, and one that leaves marks outside as those in Go do.
var ofProject = []script{
	{name: refund, parallel: true, tells: "helper/ada", input: `{"order":"order_1042","customer":"ada"}`, ends: `completed {"cents":1250,"mailed":"Dear ada, 12.5 are on their way."} null`},
	{name: "typed", parallel: true, ends: `completed {"after":3,"each/0":1,"each/1":2,"first":1} null`},
}

// typed is a script whose steps say outside that they ran. What it draws must be the same for whoever sees it.
const typed = `
-- src/workflows/typed.ts --
import { defineWorkflow } from "@svc/runtime";
const mark = async (run, label) => (await fetch("http://effects/" + run + "/" + encodeURIComponent(label))).text();
export default defineWorkflow({
  async run({ step, sleep, log, runId }) {
    const out = { values: {}, tokens: {}, drawn: {} };
    const perform = async (name, options, label, value) => {
      const got = await step(name, options, async () => {
        const token = await mark(runId, label);
        log.info("begin " + label, { in: label, token });
        return { value, token };
      });
      out.values[label] = got.value;
      out.tokens[label] = got.token;
      await mark(runId, "seen:" + label + ":" + got.token);
    };
    const first = Math.random().toString();
    log.info("drew", { first });
    await perform("first", {}, "first", 1);
    await Promise.all([0, 1].map((i) => perform("each", {}, "each/" + i, i + 1)));
    const second = crypto.randomUUID();
    log.info("drew", { second });
    await sleep(5);
    await sleep(160);
    out.drawn = { first, second };
    await perform("after", { durable: true }, "after", 3);
    return out;
  },
});
`

// readReceipt parts the example's result from what is random in it.
func readReceipt(result json.RawMessage) (rest string, drawn map[string]string) {
	var read map[string]any
	_ = json.Unmarshal(result, &read)
	drawn = map[string]string{"receipt": fmt.Sprint(read["receipt"])}
	delete(read, "receipt")
	return critic.Print(read), drawn
}

// loadProject runs the project beside what the node declares in Go. Its fetch marks effects, and leads nowhere else.
func (n *node) loadProject() error {
	if n.Project == "" {
		return nil
	}
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	_, err := ts.Load(context.Background(), n.rt, n.Project, ts.Config{Client: &http.Client{Transport: n}, Log: quiet})
	return err
}

// RoundTrip marks an effect: http://effects/<run>/<label>, or of a step whose result was seen, seen:<label>:<token>.
func (n *node) RoundTrip(r *http.Request) (*http.Response, error) {
	run, label, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	var token string
	if rest, isSeen := strings.CutPrefix(label, seen); isSeen {
		rest, token, _ = strings.Cut(rest, ":")
		n.mark(run, seen+rest, token)
	} else {
		token = n.effect(run, label)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(token)), Request: r}, nil
}

// projectFile is the example with one more workflow, as the file that nodes start from.
func projectFile(t *testing.T) string {
	t.Helper()
	dir := bundletest.With(t, bundletest.Project(t, typed))
	if err := os.CopyFS(filepath.Join(dir, "src"), os.DirFS("../../examples/project/src")); err != nil {
		t.Fatal(err)
	}
	made, err := bundle.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	data, err := made.Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "project.bundle")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestProjectEndsAlikeWhereverItsProcessDies kills at every write of workflows in TypeScript, and at random: in the soak a thousand times on
// each database, as each play has two to five deaths.
func TestProjectEndsAlikeWhereverItsProcessDies(t *testing.T) {
	file := projectFile(t)
	quick := []string{refund, "typed"} // one for each database
	sqldbtest.Each(t, func(t *testing.T, address string) {
		names, random := quick[:1], 2
		quick = quick[1:]
		abreast(t)
		st := newStage(t, address)
		st.setup.Project = file
		if soak {
			names, random = []string{refund, "typed"}, 390
		}
		st.playEvery(names...)
		every := st.deaths
		for i := range random {
			s := scriptOf(names[i%len(names)])
			st.play(s, st.someTraps(s)...)
		}
		t.Attr("project.deaths", fmt.Sprintf("%d at every write, %d at random", every, st.deaths-every))
		st.close()
	})
}
