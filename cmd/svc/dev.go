package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/amount"
	"svc.dev/svc/internal/command"
	"svc.dev/svc/service"
	"svc.dev/svc/service/config"
)

func newDev() *cobra.Command {
	cmd := command.New("dev [DIR]", "Serve a project in TypeScript while you work on it",
		`Serve a project without accounts, and build it anew whenever a file of it changes. A build that is good takes over: runs
and conversations go on where they were, since everything is recorded. What is wrong with a source is shown with its
lines, here and in the browser, and the last good build goes on serving.

The page /_svc lists agents, workflows and channels, with a form to try each. Nobody signs in: let the address be one of
this machine alone. DIR defaults to the current folder; streams are kept in DIR/.svc.

Models are asked with the keys of SVC_MODEL_ANTHROPIC_KEY, SVC_MODEL_GOOGLE_KEY and SVC_MODEL_OPENAI_KEY. Without one there is
scripted/words, and under any other name a scripted model that does as it is told: a message that begins with the name of
a tool calls it with the JSON behind the name. process.env shows the variables that SVC_PROJECT_ENV names.`,
		`  svc dev
  svc dev shop --listen 127.0.0.1:3000`)
	cmd.Args = command.Args(0, 1, "DIR")
	addSettings(cmd, "data", "database", "listen", "log-level", "log-format")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		folder := "."
		if len(args) > 0 {
			folder = args[0]
		}
		return develop(cmd, folder)
	}
	return cmd
}

// develop serves a project until the command is told to stop.
func develop(cmd *cobra.Command, folder string) error {
	if os.Getenv("SVC_DATA_DIR") == "" && !cmd.Flags().Changed("data") {
		if err := cmd.Flags().Set("data", filepath.Join(folder, ".svc")); err != nil {
			return err
		}
	}
	c, err := configOf(cmd)
	if err != nil {
		return err
	}
	log, out := config.NewLog(cmd.ErrOrStderr(), c), cmd.OutOrStdout()
	author := service.Author{
		Announce: func(d service.Developing) { announceDev(out, log, d) },
		Rebuilt:  func(r service.Rebuilt) { tellBuild(out, log, r) },
	}
	err = service.Dev(cmd.Context(), folder, c, log, author)
	if err != nil && !config.IsTerminal(cmd.ErrOrStderr()) {
		log.Error(cmd.Name(), "error", err)
		return errLogged
	}
	return err
}

// announceDev tells a person on a terminal, or else the log, where the project is found.
func announceDev(w io.Writer, log *slog.Logger, d service.Developing) {
	if !config.IsTerminal(w) {
		log.Info("serving", "address", d.Address, "page", d.Page, "folder", d.Folder, "data", d.Data)
	} else {
		fmt.Fprintf(w, `svc dev serves %s. Stop it with Ctrl-C.

  project  %s
  page     %s
  data     %s

`, filepath.Base(d.Folder), d.Address, d.Page, d.Data)
	}
	tellBuild(w, log, d.Rebuilt)
}

// tellBuild tells what came of a change.
func tellBuild(w io.Writer, log *slog.Logger, r service.Rebuilt) {
	took := r.Took.Round(time.Millisecond)
	kept := "Nothing is served until it is mended."
	if r.Serving {
		kept = "The last good build goes on serving."
	}
	switch person := config.IsTerminal(w); {
	case r.Failure != "" && person:
		fmt.Fprintf(w, "build %d failed\n\n%s\n\n%s\n\n", r.Number, r.Failure, kept)
	case r.Failure != "":
		log.Error("build failed", "build", r.Number, "error", r.Failure, "serving", r.Serving)
	case person:
		fmt.Fprintf(w, "build %d serves: %s, in %s\n", r.Number, amount.Of(r.Bytes, "byte"), took)
	default:
		log.Info("build serves", "build", r.Number, "bytes", r.Bytes, "took", took)
	}
}
