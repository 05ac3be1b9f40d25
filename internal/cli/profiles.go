package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"svc.dev/svc/internal/cli/profile"
	"svc.dev/svc/internal/cli/screen"
	"svc.dev/svc/internal/command"
)

// known is a profile as it is shown: never with its key.
type known struct {
	Profile   string     `json:"profile"`
	Current   bool       `json:"current"`
	BaseURL   string     `json:"baseUrl"`
	Workspace string     `json:"workspace,omitempty"`
	Platform  string     `json:"platform,omitempty"`
	KeyID     string     `json:"keyId,omitempty"`
	KeyLast4  string     `json:"keyLast4,omitempty"`
	Scopes    []string   `json:"scopes,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

func shownProfile(name string, p profile.Profile, current bool) known {
	return known{name, current, p.BaseURL, p.Workspace, p.Platform, p.KeyID, p.Last4(), p.Scopes, p.ExpiresAt}
}

func (h house) logout() *cobra.Command {
	cmd := command.New("logout", "Sign out of a service, and forget its key",
		`Forget a profile. The key that svc login asked for is revoked at the service, so that nobody can use it any more; one that was given with --key stays what it is.

Where the service does not answer the profile is forgotten all the same, and the exit code is 1: end the key in the workspace's settings then.`,
		`  svc logout
  svc logout --profile work`)
	name := cmd.Flags().String("profile", "", "the profile to forget (default $"+ProfileVariable+", or the current one)")
	_ = cmd.RegisterFlagCompletionFunc("profile", completeProfiles) // fails only for a flag that is not there
	answer := command.AddJSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		store, err := profile.Home()
		if err != nil {
			return err
		}
		name := chosen(*name, store)
		was, err := store.Remove(name)
		if err != nil {
			return err
		}
		var kept error
		if was.Own {
			kept = h.revoke(cmd.Context(), was)
		}
		out := map[string]any{"profile": name, "revoked": was.Own && kept == nil}
		err = answer(out, func(w io.Writer) {
			fmt.Fprintf(w, "Signed out of %s\n", screen.Line(where(was)))
		})
		if kept != nil {
			kept = fmt.Errorf("the key …%s is forgotten here and not revoked there: %w", was.Last4(), kept)
		}
		return errors.Join(err, kept)
	}
	return cmd
}

// revoke ends a key by the authority of having it.
func (h house) revoke(ctx context.Context, p profile.Profile) error {
	at, err := url.Parse(p.BaseURL)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"key": p.Key})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, (&url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/api/keys/revoke"}).String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", h.client())
	res, err := direct.Do(r)
	if err != nil {
		return errors.Unwrap(err) // the address stands in the sentence around it
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusAccepted {
		return fmt.Errorf("the service answers with %s", res.Status)
	}
	return nil
}

func (h house) whoami() *cobra.Command {
	v := h.verb("whoami", "Say which service and key are used",
		`Say which profile, address and key the other commands use, and ask the service whether it knows the key. The key itself is never shown.`,
		`  svc whoami
  svc whoami --profile work --json`, nil)
	answer := command.AddJSON(v.Command)
	return v.does(func(c *contact, _ []string) error {
		if err := h.check(v.Command, c.profile); err != nil {
			return err
		}
		shown := shownProfile(c.name, c.profile, c.name != "")
		return answer(shown, func(w io.Writer) {
			rows := [][2]string{{"profile", c.name}, {"workspace", c.profile.Workspace}, {"address", c.profile.BaseURL}, {"key", ending(c.profile)}}
			for i, scopes := range slices.Collect(slices.Chunk(c.profile.Scopes, 2)) {
				rows = append(rows, [2]string{map[bool]string{true: "may"}[i == 0], strings.Join(scopes, ", ")})
			}
			for _, row := range append(rows, [2]string{"until", until(c.profile)}) {
				if row[1] != "" {
					fmt.Fprintf(w, "%-10s %s\n", row[0], screen.Line(row[1]))
				}
			}
		})
	})
}

func ending(p profile.Profile) string {
	if p.Key == "" {
		return "none"
	}
	return "…" + p.Last4()
}

func until(p profile.Profile) string {
	if p.ExpiresAt == nil {
		return ""
	}
	return shownTime(*p.ExpiresAt)
}

func (h house) profilesList() *cobra.Command {
	cmd := command.New("list", "List the services that are signed in to", "", "  svc profiles list")
	answer := command.AddJSON(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		all, err := allProfiles()
		if err != nil {
			return err
		}
		return answer(map[string]any{"items": all}, func(w io.Writer) {
			rows := make([][]string, len(all))
			for i, k := range all {
				mark := ""
				if k.Current {
					mark = "*"
				}
				rows[i] = []string{mark, k.Profile, k.Workspace, k.BaseURL, "…" + k.KeyLast4}
			}
			screen.Table(w, []string{"", "PROFILE", "WORKSPACE", "ADDRESS", "KEY"}, rows)
		})
	}
	return cmd
}

func allProfiles() ([]known, error) {
	store, err := profile.Home()
	if err != nil {
		return nil, err
	}
	names, err := store.List()
	if err != nil {
		return nil, err
	}
	current, all := store.Current(), make([]known, 0, len(names))
	for _, name := range names {
		p, err := store.Load(name)
		if err != nil {
			return nil, err
		}
		all = append(all, shownProfile(name, p, name == current))
	}
	return all, nil
}

func (h house) profilesUse() *cobra.Command {
	cmd := command.New("use NAME", "Say which service is meant from now on", "", "  svc profiles use work")
	cmd.Args = command.Args(1, 1, "NAME")
	cmd.ValidArgsFunction = completeProfiles
	answer := command.AddJSON(cmd)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		store, err := profile.Home()
		if err != nil {
			return err
		}
		if err := store.Use(args[0]); err != nil {
			return err
		}
		p, err := store.Load(args[0])
		if err != nil {
			return err
		}
		return answer(shownProfile(args[0], p, true), func(w io.Writer) {
			fmt.Fprintf(w, "From now on: %s\n", screen.Line(where(p)))
		})
	}
	return cmd
}
