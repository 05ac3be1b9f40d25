package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"svc.dev/svc/internal/outward"
	"svc.dev/svc/service/models"
)

func modelURL(provider string, of *models.Service) Setting {
	return Setting{
		"model." + provider + ".url", "SVC_MODEL_" + strings.ToUpper(provider) + "_URL", "", "", "the provider's own",
		"where " + provider + " is, for workspaces that do not say", written(&of.URL, parseEndpoint),
	}
}

func modelKey(provider string, of *models.Service) Setting {
	return Setting{
		"model." + provider + ".key", "SVC_MODEL_" + strings.ToUpper(provider) + "_KEY", "", "", "none: workspaces have their own",
		"key of " + provider + " for all workspaces that have none", hidden{&of.Key, atLeast(1)},
	}
}

// places are addresses that one may go to, with commas between them.
type places []string

func (p *places) String() string { return strings.Join(*p, ",") }

func (p *places) Set(s string) error {
	var all places
	for part := range strings.SplitSeq(s, ",") {
		all = append(all, strings.TrimSpace(part))
	}
	if _, err := outward.New(outward.Config{Allow: all}); err != nil {
		return err
	}
	*p = all
	return nil
}

// ModelGuard is the way to providers of models.
func (c Config) ModelGuard() (*outward.Guard, error) {
	return outward.New(outward.Config{Allow: c.ModelAllowPrivate})
}

// redirects is how many an MCP server may answer with, one after the other.
const redirects = 3

// MCPGuard is the way to MCP servers.
func (c Config) MCPGuard() (*outward.Guard, error) {
	return outward.New(outward.Config{Allow: c.MCPAllowPrivate, Redirects: redirects})
}

// CheckMCPs refuses places that are none.
func (c Config) CheckMCPs() error {
	if _, err := c.MCPGuard(); err != nil {
		return fmt.Errorf("mcp.allow_private: %w", err)
	}
	return nil
}

// ModelServices are the addresses and keys for all workspaces.
func (c Config) ModelServices() map[string]models.Service {
	return map[string]models.Service{"anthropic": c.ModelAnthropic, "google": c.ModelGoogle, "openai": c.ModelOpenAI}
}

// CheckModels refuses a model that nobody could ask, and a server that nobody may: every prompt would fail.
func (c Config) CheckModels() error {
	var wrong []error
	if err := models.CheckName(c.ModelDefault); err != nil {
		wrong = append(wrong, fmt.Errorf("model.default: %w: write provider/model, such as scripted/words", err))
	}
	guard, err := c.ModelGuard()
	if err != nil {
		return errors.Join(append(wrong, fmt.Errorf("model.allow_private: %w", err))...)
	}
	services := c.ModelServices()
	for _, provider := range models.Outside() {
		u, err := url.Parse(services[provider].URL)
		if err == nil && u.Host != "" {
			err = guard.Check(u)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("model.%s.url: %w: name it in model.allow_private if it is meant", provider, err))
		}
	}
	return errors.Join(wrong...)
}
