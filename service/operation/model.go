package operation

import (
	"context"
	"slices"
	"strings"

	"svc.dev/svc/fault"
	"svc.dev/svc/internal/listing"
	"svc.dev/svc/service/access"
	"svc.dev/svc/service/models"
	"svc.dev/svc/service/secret"
	"svc.dev/svc/service/workspace"
)

const modelPath = W + "/models/{provider}"

// modelProviders are those that a workspace may ask, and the model that it asks unless it is told otherwise.
var modelProviders = everywhere("workspace",
	row("GET", W+"/models", lists, access.May(workspace.Read), listModels).says("List the model providers that a workspace may ask, without their keys, beside its default model."),
	row("PUT", W+"/models", shows, access.May(workspace.Manage), putDefaultModel).says("Choose the model of agents that name none. An empty one is that of the service."),
	get(modelPath, access.May(workspace.Read), getModelProvider).says("Read how a provider is reached.", fault.ItemNotFound),
	row("PUT", modelPath, shows, access.May(workspace.Manage), putModelProvider).most(maxSecretBody).
		says("Set the key of a provider, or where it is; an empty address is the provider's own. To replace a key, or to send it elsewhere, needs a fresh proof of identity.", fault.ItemNotFound, secret.TooLarge),
	drop(modelPath, access.May(workspace.Manage).Fresh(), deleteModelProvider).says("Forget what a workspace has set of a provider, and destroy its key.", fault.ItemNotFound),
	verb(modelPath+"/test", access.May(workspace.Manage), testModelProvider).says("Ask a provider for a word, and say what came of it.", fault.ItemNotFound, fault.Busy),
)

func listModels(ctx context.Context, c Call, in page) (all models.ModelOverview, err error) {
	var after string
	if err := in.After(&after); err != nil {
		return all, err
	}
	all, err = c.Models.List(ctx, c.Scope)
	shown := listing.Cut(slices.DeleteFunc(all.Items, func(p models.ModelProvider) bool {
		return p.Provider <= after || !strings.Contains(p.Provider, strings.ToLower(in.Q)) // names have no upper case
	}), in.Size(), func(p models.ModelProvider) []any { return []any{p.Provider} })
	all.Items, all.Next = shown.Items, shown.Next
	return all, err
}

type defaultModel struct {
	Match Match
	Body  struct {
		Default string `json:"default"`
	}
}

func putDefaultModel(ctx context.Context, c Call, in defaultModel) (models.ModelDefault, error) {
	return c.Models.PutDefault(ctx, c.Scope, c.Caller().Actor, in.Body.Default, int64(in.Match))
}

type modelProvider struct {
	Provider string `path:"provider"`
}

func getModelProvider(ctx context.Context, c Call, in modelProvider) (models.ModelProvider, error) {
	return c.Models.Get(ctx, c.Scope, in.Provider)
}

type modelProviderChange struct {
	Provider string `path:"provider"`
	Match    Match
	Body     struct {
		URL *string `json:"url,omitzero"`
		Key *string `json:"key,omitzero" text:"any"`
	}
}

func putModelProvider(ctx context.Context, c Call, in modelProviderChange) (models.ModelProvider, error) {
	return c.Models.Put(ctx, c.Scope, c.Caller().Actor, in.Provider, models.Change{
		URL: in.Body.URL, Key: in.Body.Key, Version: int64(in.Match), Stale: c.Accounts.Sessions.NeedFresh(c.Self()),
	})
}

type modelProviderRemoval struct {
	Provider string `path:"provider"`
	Match    Match
}

func deleteModelProvider(ctx context.Context, c Call, in modelProviderRemoval) error {
	return c.Models.Delete(ctx, c.Scope, c.Caller().Actor, in.Provider, int64(in.Match))
}

func testModelProvider(ctx context.Context, c Call, in modelProvider) (models.ModelCheck, error) {
	release, err := c.Fetching(c.Scope)
	if err != nil {
		return models.ModelCheck{}, err
	}
	defer release()
	return c.Models.Test(ctx, c.Scope, c.Caller().Actor, in.Provider)
}
