package openai_test

import (
	"testing"

	"go.uber.org/goleak"

	"svc.dev/svc/model"
	"svc.dev/svc/model/modeltest"
	"svc.dev/svc/model/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLaw(t *testing.T) {
	for api, format := range map[openai.API]modeltest.API{openai.Responses: modeltest.Responses, openai.Chat: modeltest.Chat} {
		t.Run(string(api), func(t *testing.T) {
			modeltest.Run(t, modeltest.Law{API: format, Name: "openai", New: func(_ *testing.T, url string) model.Provider {
				return openai.New(openai.Config{Key: modeltest.Key, URL: url, API: api, IdleTimeout: modeltest.Idle})
			}})
		})
	}
}
