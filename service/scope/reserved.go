package scope

import "strings"

// reservedNames are usernames that would mislead, or that a file system keeps for itself.
var reservedNames = set(`admin administrator root system svc api app agents platform www mail support security help about
	login logout signup register auth oauth account accounts billing settings status docs static assets cdn internal runtime
	gateway workspace workspaces users user org orgs team teams projects project channels runs workflows connectors webhook
	webhooks me null undefined anonymous ghost public private test well-known con prn aux nul
	com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9`)

// reservedSlugs are names that no business and no project can be given.
var reservedSlugs = set(`personal new settings projects admin api null con prn aux nul
	com1 com2 com3 com4 com5 com6 com7 com8 com9 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9`)

// reservedSkeletons are what the reserved usernames look like.
var reservedSkeletons = skeletons(reservedNames)

// alike folds characters that a reader takes for each other.
var alike = strings.NewReplacer("0", "o", "1", "l", "i", "l", "rn", "m", "vv", "w")

func reservedUsername(name string) bool {
	return reservedNames[name] || reservedSkeletons[alike.Replace(name)]
}

func skeletons(names map[string]bool) map[string]bool {
	all := make(map[string]bool, len(names))
	for name := range names {
		all[alike.Replace(name)] = true
	}
	return all
}

func set(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}
