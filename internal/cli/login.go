package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"svc.dev/svc/client"
	"svc.dev/svc/internal/cli/device"
	"svc.dev/svc/internal/cli/profile"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
)

// defaultPlatform is where svc serve is found on the same machine.
const defaultPlatform = "http://svc.localhost:8080"

// signIn is what somebody who signs in says.
type signIn struct {
	cmd     *cobra.Command
	house   house
	address string
	name    string
	key     string
}

func (h house) login() *cobra.Command {
	s := &signIn{house: h}
	cmd := command.New("login [ADDRESS]", "Sign in to a service",
		`Sign in to a service, and remember it as a profile.

A code is shown; open the page that is named, compare the code, and approve it there. The key that comes of it is kept in a file that only you can read, ends after 90 days at most, and is revoked by svc logout. ADDRESS is that of the service's platform (default: where the profile signed in before, or `+defaultPlatform+`).

With --key nothing is asked in a browser: the key is one that was made before, and ADDRESS is that of the API it is for. "-" reads it from standard input, or asks for it unseen on a terminal; on the command line others can see it.`,
		`  svc login https://svc.example.com
  svc login --profile work https://svc.example.com
  svc login --key - https://agents.example.com/v1/ada/personal < key.txt`)
	cmd.Args = command.Args(0, 1, "ADDRESS")
	cmd.Flags().StringVar(&s.name, "profile", "", "the profile to sign in (default $"+ProfileVariable+", or the current one)")
	cmd.Flags().StringVar(&s.key, "key", "", "an API key that was made before; - reads it")
	_ = cmd.RegisterFlagCompletionFunc("profile", completeProfiles) // fails only for a flag that is not there
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s.cmd = cmd
		if len(args) == 1 {
			s.address = args[0]
		}
		return s.run(answer)
	}
	return cmd
}

func (s *signIn) run(answer func(any, func(io.Writer)) error) error {
	store, err := profile.Home()
	if err != nil {
		return err
	}
	s.name = chosen(s.name, store)
	if err := profile.CheckName(s.name); err != nil {
		return command.Usage(err)
	}
	var p profile.Profile
	if s.cmd.Flags().Changed("key") {
		p, err = s.withKey()
	} else {
		p, err = s.inBrowser(store)
	}
	if err != nil {
		return err
	}
	replaced, err := store.Save(s.name, p)
	if err != nil && p.Own {
		err = errors.Join(err, s.house.revoke(s.cmd.Context(), p)) // nobody has it now
	}
	if err != nil {
		return err
	}
	if replaced.Own && replaced.Key != p.Key {
		// The one before is nobody's now. That it is ended is no condition of having the new one.
		_ = s.house.revoke(s.cmd.Context(), replaced)
	}
	return answer(shownProfile(s.name, p, true), func(w io.Writer) {
		fmt.Fprintf(w, "Signed in as profile %s: %s\n", s.name, screen.Line(where(p)))
	})
}

// chosen is the profile that is meant.
func chosen(flag string, store profile.Store) string {
	for _, name := range []string{flag, os.Getenv(ProfileVariable)} {
		if name != "" {
			return name
		}
	}
	return store.Current()
}

// where is a service as people name it.
func where(p profile.Profile) string {
	if p.Workspace == "" {
		return p.BaseURL
	}
	return p.Workspace + " at " + p.BaseURL
}

// withKey takes a key that was made before, and looks whether the service knows it.
func (s *signIn) withKey() (p profile.Profile, err error) {
	if s.address == "" {
		return p, command.Usagef("ADDRESS is missing: a key is for the API of one workspace, such as https://agents.example.com/v1/ada/personal")
	}
	p = profile.Profile{BaseURL: strings.TrimSuffix(s.address, "/"), Key: strings.TrimSpace(s.key)}
	if err := checkAddress(p.BaseURL, true); err != nil {
		return p, err
	}
	if p.Key == "-" {
		if p.Key, err = s.readKey(); err != nil {
			return p, err
		}
	}
	if p.Key == "" {
		return p, command.Usagef("the key is empty")
	}
	if strings.ContainsFunc(p.Key, unusual) {
		return p, command.Usagef("a key has no spaces, and no letters beyond ASCII")
	}
	if space := spaceOf(p.BaseURL); space != "" {
		p.Workspace = space[strings.LastIndex(space, "/workspaces/")+len("/workspaces/"):]
	}
	return p, s.house.check(s.cmd, p)
}

// longestKey is more than any key has.
const longestKey = 4 << 10

func (s *signIn) readKey() (string, error) {
	in := s.cmd.InOrStdin()
	if screen.IsTerminal(in) {
		return s.askKey(in.(*os.File))
	}
	line, err := bufio.NewReader(io.LimitReader(in, longestKey)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}

// askKey reads a key that is not shown. Whoever interrupts it gets the terminal back as it was.
func (s *signIn) askKey(terminal *os.File) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("ask for the key: %w", err)
	}
	fmt.Fprint(s.cmd.ErrOrStderr(), "API key: ")
	defer fmt.Fprintln(s.cmd.ErrOrStderr())
	typed, failed := make(chan string, 1), make(chan error, 1)
	// The read cannot be interrupted: on a signal it is left behind, and the process ends.
	go func() {
		text, err := term.ReadPassword(fd)
		if err != nil {
			failed <- err
			return
		}
		typed <- strings.TrimSpace(string(text))
	}()
	select {
	case key := <-typed:
		return key, nil
	case err := <-failed:
		return "", err
	case <-s.cmd.Context().Done():
		return "", errors.Join(errInterrupted, term.Restore(fd, before))
	}
}

// check asks for the least there is with the key of a profile. Only one that is not known is refused: what else is answered says
// that the key was read.
func (h house) check(cmd *cobra.Command, p profile.Profile) error {
	c := newContact(cmd.ErrOrStderr())
	c.profile = p
	if err := c.connect(h); err != nil {
		return err
	}
	_, err := c.api.Runs.List(cmd.Context(), client.RunQuery{Limit: 1})
	if e, ok := errors.AsType[*client.Error](err); ok && (e.Status == http.StatusForbidden || e.Status == http.StatusNotFound) {
		return nil
	}
	return c.explain(err)
}

// inBrowser asks for a key, and waits until somebody has approved it.
func (s *signIn) inBrowser(store profile.Store) (p profile.Profile, err error) {
	platform := s.address
	if platform == "" {
		before, _ := store.Load(s.name) // none, or one that cannot be read, signed in nowhere
		if platform = before.Platform; platform == "" {
			platform = defaultPlatform
		}
	}
	if err := checkAddress(platform, true); err != nil {
		return p, err
	}
	if spaceOf(platform) != "" {
		return p, command.Usagef("%s is the address of an API: sign in at that of the platform, or give a key with --key", platform)
	}
	flow := device.Flow{Platform: strings.TrimSuffix(platform, "/"), Client: s.asks(), HTTP: direct}
	code, err := flow.Begin(s.cmd.Context())
	if err != nil {
		return p, s.interruptedOr(fmt.Errorf("%s: %w", platform, err))
	}
	grant, err := s.await(flow, code)
	if err != nil {
		return p, s.interruptedOr(err)
	}
	p = profile.Profile{
		BaseURL: strings.TrimSuffix(grant.BaseURL, "/"), Platform: flow.Platform, Key: grant.Key, KeyID: grant.ID,
		Workspace: grant.Workspace, Scopes: grant.Scopes, ExpiresAt: grant.ExpiresAt, Own: true,
	}
	if err := checkAddress(p.BaseURL, true); err != nil {
		here := p
		here.BaseURL = p.Platform // the other may be anybody's
		return p, errors.Join(err, s.house.revoke(s.cmd.Context(), here))
	}
	return p, nil
}

// asks is what the page in the browser calls this program, so that somebody can tell it from that of a stranger.
func (s *signIn) asks() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "a computer"
	}
	return screen.Cut(s.house.client()+" on "+name, 64)
}

func (s *signIn) interruptedOr(err error) error {
	if errors.Is(err, context.Canceled) {
		return errInterrupted
	}
	return err
}

// await shows the code, and waits. The page is written to standard error: standard output is the answer's.
func (s *signIn) await(flow device.Flow, code device.Code) (device.Grant, error) {
	w := s.cmd.ErrOrStderr()
	style := screen.StyleOf(w)
	fmt.Fprintf(w, "Open      %s\n", style.Bold(screen.Line(code.Verification)))
	fmt.Fprintf(w, "and enter %s\n", style.Bold(screen.Line(code.UserCode)))
	if code.VerificationAll != "" {
		fmt.Fprintf(w, "or open   %s\n", screen.Line(code.VerificationAll))
	}
	waiting := screen.NewProgress(w)
	defer waiting.Done()
	ctx, cancel := context.WithCancel(s.cmd.Context())
	defer cancel()
	end := time.Now().Add(time.Duration(code.ExpiresIn) * time.Second)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		for tick := time.NewTicker(time.Second); ; {
			waiting.Show("Waiting for approval; %s left", time.Until(end).Round(time.Second))
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	}()
	defer func() { cancel(); <-shown }()
	return flow.Await(ctx, code)
}
