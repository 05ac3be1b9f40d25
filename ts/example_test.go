package ts_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"svc.dev/svc"
	"svc.dev/svc/sqlstore"
	"svc.dev/svc/ts"
)

// A folder of modules runs in the Runtime of a Go program.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "project")
	check(err)
	defer os.RemoveAll(dir)
	check(os.MkdirAll(filepath.Join(dir, "workflows"), 0o755))
	check(os.WriteFile(filepath.Join(dir, "workflows", "greet.ts"), []byte(`
		import { defineWorkflow } from "@svc/runtime";
		export default defineWorkflow({
			async run({ step }) {
				const name: string = await step("find name", () => "Ada");
				return "Hello, " + name + "!";
			},
		});`), 0o644))

	ctx, stop := context.WithCancel(context.Background())
	store, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(dir, "svc.db"), sqlstore.Config{})
	check(err)
	rt, err := svc.New(svc.Config{Store: store})
	check(err)
	project, err := ts.Load(ctx, rt, dir, ts.Config{})
	check(err)
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(ctx) }()

	invoked, err := rt.Invoke(ctx, "greet", svc.Invocation{Wait: true})
	check(err)
	fmt.Printf("%s\n", invoked.Run.Result)

	stop()
	check(<-ended)
	project.Close()
	check(store.Close())
	// Output: "Hello, Ada!"
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// A run is compared with its replay: what a workflow uses that is not recorded, such as the environment, shows.
func ExampleWitness() {
	dir, err := os.MkdirTemp("", "project")
	check(err)
	defer os.RemoveAll(dir)
	check(os.MkdirAll(filepath.Join(dir, "workflows"), 0o755))
	check(os.WriteFile(filepath.Join(dir, "workflows", "odd.ts"), []byte(`
		import { defineWorkflow } from "@svc/runtime";
		export default defineWorkflow({ run: async ({ step }) => step("call " + process.env.SHOP, () => 1) });`), 0o644))

	ctx := context.Background()
	store, err := sqlstore.Open(ctx, "sqlite:"+filepath.Join(dir, "svc.db"), sqlstore.Config{})
	check(err)
	witness := &ts.Witness{}
	within := func(shop string, do func(rt *svc.Runtime)) {
		rt, err := svc.New(svc.Config{Store: store, Node: "one", StopTimeout: 50 * time.Millisecond})
		check(err)
		project, err := ts.Load(ctx, rt, dir, ts.Config{Env: map[string]string{"SHOP": shop}, Witness: witness})
		check(err)
		working, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- rt.Run(working) }()
		do(rt)
		stop()
		check(<-ended)
		project.Close()
	}
	var id string
	within("Ada's", func(rt *svc.Runtime) {
		invoked, err := rt.Invoke(ctx, "odd", svc.Invocation{})
		check(err)
		id = invoked.RunID
		<-witness.Held()
	})
	within("Bob's", func(rt *svc.Runtime) {
		run, err := rt.Await(ctx, "odd", id)
		check(err)
		fmt.Println(run.Status, witness.Verdict().Difference)
	})
	check(store.Close())
	// Output: errored it asks for step "call Bob's", where the first time asked for step "call Ada's"
}
