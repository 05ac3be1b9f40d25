package google_test

import (
	"testing"

	"go.uber.org/goleak"

	"svc.dev/svc/model"
	"svc.dev/svc/model/google"
	"svc.dev/svc/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLaw(t *testing.T) {
	for _, name := range []string{"gemini-3.8-flash", "gemini-2.5-pro"} {
		t.Run(name, func(t *testing.T) {
			modeltest.Run(t, modeltest.Law{API: modeltest.Google, Name: "google", Model: name, New: func(_ *testing.T, url string) model.Provider {
				return google.New(google.Config{Key: modeltest.Key, URL: url, IdleTimeout: modeltest.Idle})
			}})
		})
	}
}
