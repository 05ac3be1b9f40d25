// Package peers holds the providers' own clients against the servers of model/modeltest: what they can read, the providers
// could have said. And an ACME server of others gives the product its certificates. It is a module of its own, so that nothing of it is ever linked.
package peers
