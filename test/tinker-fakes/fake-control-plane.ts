import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { FakeEngine } from './fake-engine.ts';
import { type Body, Status } from './fake-promises.ts';
import { sendJson } from './send.ts';

/** The account of the fake's trainer job. */
export const FAKE_JOB = 'training/v1/rlorTrainerJobs/acme/job-1';

type ControlCall = {
  readonly method: string;
  readonly path: string;
  readonly body: Body;
  readonly headers: IncomingHttpHeaders;
  readonly origin: string;
};

/** Fireworks' calls that make a model of a checkpoint and give its files away. */
export function createControlPlane(engine: FakeEngine, apiKey: string | undefined) {
  /** saved state by model */
  const models = new Map<string, string>();
  return {
    models,
    answer: async (
      { method, path, body, headers, origin }: ControlCall,
      response: ServerResponse,
    ): Promise<void> => {
      const [, signed] = /^\/signed\/([^/]+)\//.exec(path) ?? [];
      if (signed !== undefined) {
        const files = await engine.files(models.get(signed) ?? '');
        return void response.end(files?.get(path.split('/').at(-1)!));
      }
      if (apiKey !== undefined && headers.authorization !== `Bearer ${apiKey}`)
        throw new Status(401, 'Invalid API key');
      const [, checkpoint] = /^\/v1\/accounts\/acme\/checkpoints\/([^/]+):promote$/.exec(path) ?? [];
      if (checkpoint !== undefined) {
        const saved = engine.states().find((state) => state.endsWith(`/${checkpoint}`));
        const [, model] = /^accounts\/acme\/models\/([a-z0-9-]{1,63})$/.exec(String(body.output_model)) ?? [];
        if (saved === undefined || model === undefined) throw new Status(404, 'checkpoint not found');
        models.set(model, saved);
        return sendJson(response, 200, { model: { state: 'READY', kind: 'HF_PEFT_ADDON' } });
      }
      const [, model = '', action] =
        /^\/v1\/accounts\/acme\/models\/([^/:]+)(:getDownloadEndpoint)?$/.exec(path) ?? [];
      if (!models.has(model)) throw new Status(404, 'model not found');
      if (method === 'DELETE') models.delete(model);
      if (action === undefined) return sendJson(response, 200, {});
      const names = ['adapter_config.json', 'adapter_model.safetensors', 'fireworks.json'];
      const urls = Object.fromEntries(names.map((name) => [name, `${origin}/signed/${model}/${name}`]));
      sendJson(response, 200, { filenameToSignedUrls: urls });
    },
  };
}
