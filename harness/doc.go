// Package harness is one agent run: the turns of model and tools that answer a
// prompt. It knows nothing of offices, queues or platforms; what it needs of
// them it declares here: a [Provider] to ask, a [Computer] to work on, a
// [Store] to keep the history in.
//
// [Run.Do] is the loop. The law that it keeps, and that every provider
// enforces: each tool call in the history has exactly one result, after it and
// before the next message, whatever happened in between. [Close] restores the
// law at the end of a history whose process was killed, [Repair] anywhere.
//
// A run ends by itself, and also when its [Meter] has reached a limit, when the
// model makes the same tool call again and again, and when a model call has taken
// too long in all its attempts.
//
// A context that has nearly filled the model's window is compacted: a summary,
// which the model itself writes, takes the place of all but the newest messages.
// What is too large even so is shortened in the request, and never in the store.
//
// A run is put together from [Tools], which work on a Computer, and from
// [SystemPrompt], whose parts [Skills] and [Memory] read from the host
// directories that the agent can write. [UserText] makes a person's message
// into what the model sees. Images are made to fit the model when they enter the
// history, by package harness/picture.
//
// Tools that are deferred stand on a shelf: the model finds them with tool_search
// and is told of them from then on, so that a run may have hundreds.
//
// Package harness/subagents is the tool with which a run has other runs work for
// it. Package harness/mcp gives a run the tools of MCP servers. Package
// harness/models knows which models exist and how to reach them;
// harness/anthropic, harness/openai and harness/demo are the providers.
package harness
