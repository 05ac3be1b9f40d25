// Package api is the description of the product's HTTP API, as it is served and as it is held to the handlers by tests.
package api

import _ "embed"

// Document is the part of the OpenAPI 3.1 document that is written by hand: what service/operation does not print yet.
//
//go:embed openapi.yaml
var Document []byte
