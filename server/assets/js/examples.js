/** Prompts of the built-in demo agent that show what an agent can do, and do wrong. */

export const DEMO_EXAMPLES = [
  { prompt: "/plan", text: "a plan, worked off step by step" },
  { prompt: "/diff", text: "changes of files" },
  { prompt: "/permit", text: "a permission with options" },
  { prompt: "/ask2", text: "two questions at once" },
  { prompt: "/long", text: "a long output, and a failed call" },
  { prompt: "/slow", text: "a long answer to stop or to steer" },
  { prompt: "/wedge", text: "an agent that ignores Stop" },
  { prompt: "/fail", text: "a run that fails" },
];
