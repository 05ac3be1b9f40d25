package githubtest

import "strings"

// permissions are the names that a manifest may use. The one for addresses is emails; email_addresses is refused.
var permissions = func() map[string]bool {
	known := map[string]bool{}
	for name := range strings.FieldsSeq(`
		actions actions_variables administration attestations blocking checks codespaces codespaces_lifecycle_admin
		codespaces_metadata codespaces_secrets codespaces_user_secrets contents dependabot_secrets deployments discussions
		emails environments followers gists git_signing_ssh_public_keys gpg_keys interaction_limits issues keys members
		merge_queues metadata organization_actions_variables organization_administration organization_custom_properties
		organization_events organization_hooks organization_packages organization_personal_access_tokens organization_plan
		organization_projects organization_secrets organization_self_hosted_runners organization_user_blocking packages
		pages plan profile pull_requests repository_advisories repository_custom_properties repository_hooks
		repository_projects secret_scanning_alerts secrets security_events single_file starring statuses team_discussions
		vulnerability_alerts watching workflows`) {
		known[name] = true
	}
	return known
}()
