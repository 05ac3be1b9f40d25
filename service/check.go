package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/fault"
	"svc.dev/svc/service/config"
	"svc.dev/svc/service/models"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/ts"
	"svc.dev/svc/ts/dev"
	"svc.dev/svc/workflow"
)

// Checked is what was found out about a project.
type Checked struct {
	Folder string          `json:"folder"`
	OK     bool            `json:"ok"`
	Build  CheckedBuild    `json:"build"`
	Types  CheckedTypes    `json:"types"`
	Replay []CheckedReplay `json:"replay,omitempty"`
}

// CheckedBuild says whether the project can be built, and its modules can be served.
type CheckedBuild struct {
	Result  string   `json:"result"` // passed or failed
	Modules []string `json:"modules"`
	Bytes   int      `json:"bytes"`
	Hash    string   `json:"hash"`
	Said    string   `json:"said"`
}

// CheckedTypes says what tsc found.
type CheckedTypes struct {
	Result string `json:"result"` // passed, failed or skipped
	Said   string `json:"said"`
}

// CheckedReplay says whether a run of a workflow goes the same way when it is replayed from its record.
type CheckedReplay struct {
	Workflow string `json:"workflow"`
	Result   string `json:"result"` // same, different or failed
	Asked    int    `json:"asked"`  // steps, sleeps, prompts, times and random values
	Said     string `json:"said"`
}

// The results of checks.
const (
	checkPassed  = "passed"
	checkFailed  = "failed"
	checkSkipped = "skipped"
	replaySame   = "same"
	replayOther  = "different"
)

// Replaying is a workflow whose run is to be replayed, and its input.
type Replaying struct {
	Workflow string
	Input    json.RawMessage // nil: none
}

// Check builds a project, asks tsc for its types, and replays runs. What it finds is no error. Runs do what their steps do; nothing is kept of them.
func Check(ctx context.Context, folder string, replays []Replaying, c config.Config, log *slog.Logger) (Checked, error) {
	found := Checked{Folder: folder, Build: CheckedBuild{Result: checkFailed, Modules: []string{}}, Types: checkTypes(ctx, folder)}
	aside, err := os.MkdirTemp("", "svc-check-")
	if err != nil {
		return found, err
	}
	defer os.RemoveAll(aside)
	k := &checking{config: c.WithDefaults(), log: log, address: "sqlite:" + filepath.Join(aside, "check.db")}
	if k.built, err = ts.Build(folder); err != nil {
		found.Build.Said = dev.Explain(err)
		return found, nil
	}
	found.Build.Bytes, found.Build.Hash = k.built.Bytes(), k.built.Hash()
	if found.Build.Modules, err = k.load(ctx); err != nil {
		found.Build.Said = dev.Explain(err)
		return found, ctx.Err()
	}
	found.Build.Result = checkPassed
	found.OK = found.Types.Result != checkFailed
	for i, one := range replays {
		// What another workflow has invoked does not go on beside this one.
		k.address = "sqlite:" + filepath.Join(aside, fmt.Sprintf("replay-%d.db", i))
		got := k.replay(ctx, one)
		found.Replay = append(found.Replay, got)
		found.OK = found.OK && got.Result == replaySame
	}
	return found, ctx.Err()
}

// checking is a project that is looked at, and a database that is thrown away.
type checking struct {
	config  config.Config
	log     *slog.Logger
	address string
	built   *ts.Built
}

// stopCheck is how long runs may take to be given back: the one that is looked at is held.
const stopCheck = 50 * time.Millisecond

// within lets the project run in a Runtime of its own, over the database of the check.
func (k *checking) within(ctx context.Context, w *ts.Witness, do func(context.Context, *svc.Runtime, *ts.Project) error) (err error) {
	store, err := sqlstore.Open(ctx, k.address, sqlstore.Config{Log: k.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	rt, err := svc.New(svc.Config{
		Store: store, Node: "check", StopTimeout: stopCheck, Log: k.log, Model: models.Direct(k.config.ModelServices(), k.config.ModelIdleTimeout),
	})
	if err != nil {
		return err
	}
	p, err := k.built.Load(ctx, rt, ts.Config{Dev: true, Witness: w, Env: projectEnv(k.config.ProjectEnv), Log: k.log})
	if err != nil {
		return err
	}
	defer p.Close()
	working, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(working) }()
	err = do(ctx, rt, p)
	stop()
	return errors.Join(err, <-ended)
}

// load is the project's modules, by their files.
func (k *checking) load(ctx context.Context) ([]string, error) {
	all := []string{}
	err := k.within(ctx, nil, func(_ context.Context, _ *svc.Runtime, p *ts.Project) error {
		for _, d := range p.Declarations() {
			all = append(all, d.Kind+"s/"+d.Name)
		}
		return nil
	})
	return all, err
}

// replay runs a workflow to its end, and then again from its record, in another Runtime with engines of its own.
func (k *checking) replay(ctx context.Context, one Replaying) CheckedReplay {
	w := &ts.Witness{}
	got := CheckedReplay{Workflow: one.Workflow, Result: checkFailed}
	var id string
	err := k.within(ctx, w, func(ctx context.Context, rt *svc.Runtime, _ *ts.Project) (err error) {
		id, err = firstTime(ctx, rt, one, w)
		return err
	})
	var run workflow.Run
	if err == nil {
		err = k.within(ctx, w, func(ctx context.Context, rt *svc.Runtime, _ *ts.Project) (err error) {
			run, err = rt.Await(ctx, one.Workflow, id)
			return err
		})
	}
	verdict := w.Verdict()
	got.Asked = verdict.Asked
	switch {
	case verdict.Difference != "":
		got.Result, got.Said = replayOther, "Replayed, "+verdict.Difference+"."
	case err != nil:
		got.Said = said(err)
	case run.Error != nil && run.Error.Type == fault.RunDefinitionChanged:
		got.Result, got.Said = replayOther, run.Error.Message
	case !verdict.Replayed:
		got.Said = "The run was not replayed to its end."
	case run.Error != nil:
		got.Result, got.Said = replaySame, "Both times the run failed: "+run.Error.Message
	default:
		got.Result = replaySame
	}
	return got
}

// firstTime starts a run, and waits until it is held at its end.
func firstTime(ctx context.Context, rt *svc.Runtime, one Replaying, w *ts.Witness) (id string, err error) {
	wf := rt.Workflow(one.Workflow)
	if wf == nil {
		return "", fmt.Errorf("there is no workflow %s", one.Workflow)
	}
	if err := wf.CheckInput(ctx, one.Input); err != nil {
		return "", err
	}
	started, err := rt.Invoke(ctx, one.Workflow, svc.Invocation{Input: one.Input})
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan error, 1)
	go func() {
		run, err := rt.Await(ctx, one.Workflow, started.RunID)
		if err == nil && run.Error != nil {
			err = errors.New(run.Error.Message)
		}
		over <- err
	}()
	select {
	case <-w.Held():
		return started.RunID, nil
	case err := <-over:
		if err == nil {
			err = errors.New("the run ended before it could be held")
		}
		return "", err
	}
}

// said is an error in words for the author: of an input that does not fit, what does not.
func said(err error) string {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return err.Error()
	}
	text := dev.Explain(f)
	if issues, told := f.Meta["issues"]; told {
		if data, err := json.Marshal(issues); err == nil {
			text += " " + string(data)
		}
	}
	return text
}

// checkTypes asks tsc, where the project or a folder around it has installed it.
func checkTypes(ctx context.Context, folder string) CheckedTypes {
	if _, err := os.Stat(filepath.Join(folder, "tsconfig.json")); err != nil {
		return CheckedTypes{checkSkipped, "There is no tsconfig.json: svc init writes one."}
	}
	tsc := findTSC(folder)
	if tsc == "" {
		return CheckedTypes{checkSkipped, "tsc is not installed in the project: npm install --save-dev typescript."}
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return CheckedTypes{checkSkipped, "tsc is installed, and there is no node to run it."}
	}
	cmd := exec.CommandContext(ctx, node, tsc, "--noEmit", "--pretty", "false", "--project", folder)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return CheckedTypes{Result: checkPassed}
	}
	if len(out) == 0 {
		out = []byte(err.Error())
	}
	return CheckedTypes{checkFailed, string(out)}
}

// findTSC looks in the project's packages, and in those of the folders around it, as Node does. Empty: there is none.
func findTSC(folder string) string {
	at, err := filepath.Abs(folder)
	if err != nil {
		return ""
	}
	for {
		tsc := filepath.Join(at, "node_modules", "typescript", "bin", "tsc")
		if _, err := os.Stat(tsc); err == nil {
			return tsc
		}
		if filepath.Dir(at) == at {
			return ""
		}
		at = filepath.Dir(at)
	}
}
