package config

import (
	"strings"
	"testing"
	"time"
)

func TestARetentionIsATimeOrForEver(t *testing.T) {
	for text, want := range map[string]time.Duration{"keep": Kept, "KEEP": Kept, "90d": 90 * 24 * time.Hour, "30m": 30 * time.Minute, "0s": 0, "-1ns": 0, "for ever": 0, "": 0} {
		var c Config
		value := retention(&c.RetentionRuns)
		if err := value.Set(text); c.RetentionRuns != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %s %v", text, c.RetentionRuns, err)
		}
	}
	c := Config{}.WithDefaults()
	if c.RetentionRuns != Kept || c.RetentionConversations != Kept || c.RetentionAudit != Kept || c.RetentionIdempotency != 7*24*time.Hour {
		t.Errorf("by default runs are kept for %s, keys for %s", c.RetentionRuns, c.RetentionIdempotency)
	}
}

func TestAProjectSeesNoVariableOfTheServiceItself(t *testing.T) {
	for text, says := range map[string]string{
		"STRIPE_KEY": "", "A,B_2": "",
		"SVC_KEYS": "SVC_KEYS is a variable of the service itself", "A,SVC_RUNTIME_TOKEN": "is a variable of the service itself",
		"A, B": "no list of names", "A,,B": "no list of names", "A=1": "no list of names",
	} {
		var c Config
		for _, s := range c.Settings() {
			if s.Key != "project.env" {
				continue
			}
			err := s.Set(text)
			if says == "" && (err != nil || c.ProjectEnv != text) {
				t.Errorf("%q: %v, %q", text, err, c.ProjectEnv)
			}
			if says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
				t.Errorf("%q: %v, and not %q", text, err, says)
			}
		}
	}
}
