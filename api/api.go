// Package api is the description of the product's HTTP API, as it is served and as it is held to the handlers by tests.
package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Document is OpenAPI 3.1, written by hand.
//
//go:embed openapi.yaml
var Document []byte

// JSON is the document as it is served.
var JSON = sync.OnceValues(func() ([]byte, error) {
	var tree any
	if err := yaml.Unmarshal(Document, &tree); err != nil {
		return nil, fmt.Errorf("read openapi.yaml: %w", err)
	}
	return json.Marshal(tree)
})
