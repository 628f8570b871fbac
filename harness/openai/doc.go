// Package openai is the provider for OpenAI's Chat Completions API and for the
// many servers that speak it: Ollama, llama.cpp, vLLM, OpenRouter, DeepSeek,
// Gemini and others. Where these differ, [Compat] says how.
//
// [New] takes an address and a key; it reads nothing from the environment.
// Stream sends one request and reads the stream of its answer; it never tries
// again, since only the loop knows whether it may.
package openai
