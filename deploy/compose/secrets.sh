#!/usr/bin/env bash
# secrets.sh makes the secrets of compose.yaml, once: random ones in secrets/, and .env for what is none. The domain is its argument.
#   SVC=bin/svc deploy/compose/secrets.sh svc.example.com
set -euo pipefail
domain=${1:?the domain of the service, as svc.example.com}
svc=$(command -v "${SVC:-svc}") || { echo "secrets.sh: there is no ${SVC:-svc}: name the binary with SVC=PATH" >&2; exit 1; }
[[ $svc = /* ]] || svc=$PWD/$svc
cd "$(dirname "$0")"
[ ! -e secrets ] || { echo "secrets.sh: secrets/ is there already, and is not replaced" >&2; exit 1; }

# random has 32 bytes that no shell needs to quote.
random() { od -An -N32 -tx1 /dev/urandom | tr -d ' \n'; }

pair=$("$svc" keys assertion --json)
# The folder is its owner's alone; the files in it are mounted one by one, and read by another user there.
mkdir -m 0700 secrets
password=$(random)
random >secrets/runtime_token
random >secrets/runtime_admin_token
printf %s "$password" >secrets/database_password
printf 'postgres://svc:%s@database/svc?sslmode=disable' "$password" >secrets/database_url
field() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" <<<"$pair"; }
field key | tr -d '\n' >secrets/assertion_key
printf 'DOMAIN=%s\nASSERTION_PUBLIC=%s\n' "$domain" "$(field public)" >.env
chmod 0444 secrets/*
