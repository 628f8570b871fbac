// Package models knows which models there are, how to reach their servers and
// with which keys.
//
// [Load] reads the embedded catalogue and, over it, two files of the state
// directory: models.json, which adds providers and models, and auth.json, which
// holds keys. A registry then answers: [Registry.Default] says which model to
// use when nobody has said, [Registry.Find] what a "provider/model:level" means,
// and [Registry.Provider] gives what a run needs to call it.
//
// models.json, all of whose keys but baseUrl, api and a model's id may be left
// out:
//
//	{"providers": {"lab": {
//		"baseUrl": "http://gpu.lab:8000/v1",
//		"api": "openai-completions",
//		"apiKey": "$LAB_KEY",
//		"headers": {"X-Team": "bots"},
//		"compat": {"maxTokensField": "max_tokens"},
//		"models": [{"id": "qwen3-coder", "contextWindow": 32768, "maxTokens": 8192}]
//	}}}
//
// The api is openai-completions, openai-responses or anthropic-messages, and a
// model may have another than its provider.
//
// A provider of the catalogue can be given another address or key, more models,
// and changes to the ones it has under "modelOverrides". auth.json, which nobody
// but its owner may read:
//
//	{"anthropic": {"type": "api_key", "key": "!pass show anthropic"},
//	 "lab": {"type": "oauth", "access": …, "refresh": …, "expires": 1790000000000,
//		"tokenUrl": "https://login.lab/token", "clientId": "mikan"}}
//
// The second is a login: its access token is used until it ends (Unix
// milliseconds), and renewed before that. The new tokens go into the same file,
// which is replaced whole, through symbolic links, under a lock beside it
// (auth.json.lock), so that several processes can share it. Where Anthropic and
// OpenAI (as openai-codex) renew theirs is known.
//
// A key or a header's value is taken as it stands, with $NAME and ${NAME} for
// environment variables, $$ for $ and $! for !; one that begins with ! is a
// command whose output is the value. Keys are looked up only when a provider is
// asked for, and stand in no error and no String.
package models
