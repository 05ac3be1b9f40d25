package operation

import (
	"context"

	"svc.dev/svc/service/access"
)

// itself are operations of the service as such.
var itself = about("service", access.Platform,
	get("/api/openapi.json", access.Public, getDescription).on(EverySurface...).says("Read this description. It may be stored for five minutes."),
	get("/api/probe", access.Public, probe).on(EverySurface...).
		says("See what stands in front of the service. The answer is two events, `probe` at once and `end` a second later: a proxy that holds answers back brings both together. `probe` names the surface that was reached and what became of `X-Forwarded-For`.", rateLimited),
)

// Document is this description, as JSON has it.
type Document struct{}

func getDescription(context.Context, Call, struct{}) (Document, error) { return Document{}, nil }

// Probing is an answer in two parts.
type Probing struct{}

func probe(context.Context, Call, struct{}) (Probing, error) { return Probing{}, nil }
