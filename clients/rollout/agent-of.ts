import { bashAgent } from '../environments/bash-agent.ts';
import { toolsAgent } from '../environments/tools-agent.ts';
import type { Agent } from './contract.ts';
import { loadAgent } from './load-modules.ts';
import { programAgent } from './program-agent.ts';
import type { AgentSettings } from './settings.ts';

/**
 * The agent that the settings name.
 *
 * @param model name of the model in the requests of the agents that come with ClawLoop
 * @throws UsageError when a module cannot be loaded
 */
export async function agentOf(settings: AgentSettings, model: string): Promise<Agent> {
  switch (settings.kind) {
    case 'module':
      return loadAgent(settings.path);
    case 'tools':
      return toolsAgent({ ...settings, model });
    case 'bash':
      return bashAgent({ ...settings, model });
    case 'program':
      return programAgent({ ...settings, model });
  }
}
