package scope

import (
	"slices"
	"strings"
)

// reservedNames are usernames that would mislead, or that a file system keeps for itself.
var reservedNames = strings.Fields(`admin administrator root system svc api app agents platform www mail support security help about
	login logout signup register auth oauth account accounts billing settings status docs static assets cdn internal runtime
	gateway workspace workspaces users user org orgs team teams projects project channels runs workflows connectors webhook
	webhooks me null undefined anonymous ghost public private test well-known con prn aux nul
	com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9`)

// reservedSlugs are names that no business and no project can be given.
var reservedSlugs = strings.Fields(`personal new settings projects admin api null con prn aux nul
	com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9`)

// alike folds characters that a reader takes for each other.
var alike = strings.NewReplacer("0", "o", "1", "l", "i", "l", "rn", "m", "vv", "w")

// reservedUsername reports whether a name is a reserved one, or looks like one.
func reservedUsername(name string) bool {
	return slices.ContainsFunc(reservedNames, func(reserved string) bool { return alike.Replace(reserved) == alike.Replace(name) })
}
