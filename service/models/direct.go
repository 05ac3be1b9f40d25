package models

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"svc.dev/svc/model"
	"svc.dev/svc/model/scripted"
)

// Direct finds providers by what an operator gave alone, for a program that has no workspaces: all addresses may be asked, those of this
// machine too. Of the scripted provider every model is there: words, and under any other name one that does as it is told.
func Direct(given map[string]Service, idle time.Duration) func(ctx context.Context, scope, name string) (model.Provider, error) {
	return func(_ context.Context, _, name string) (model.Provider, error) {
		provider, id, err := model.Name(name)
		if err != nil {
			return nil, err
		}
		if provider == Scripted {
			return scriptedModel(id), nil
		}
		how, there := protocols[provider]
		if !there {
			return nil, &model.Error{Class: model.Rejected, Message: CheckName(name).Error()}
		}
		w := way{provider: provider, url: cmp.Or(given[provider].URL, how.url), key: given[provider].Key.Reveal()}
		variable := "SVC_MODEL_" + strings.ToUpper(provider) + "_KEY"
		if w.key == "" && !w.keyless() {
			return nil, &model.Error{Class: model.Unauthorized, Message: fmt.Sprintf("There is no key for %s: set the variable %s.", provider, variable)}
		}
		return how.speak(reach{url: w.url, key: w.key, keyName: variable, idle: idle}), nil
	}
}

func scriptedModel(id string) model.Provider {
	if id == "words" {
		return scripted.Words()
	}
	return scripted.Obedient()
}
