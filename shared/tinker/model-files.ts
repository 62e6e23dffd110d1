import { adapterFileNames } from '../policy/checkpoints/adapter-files.ts';
import { isServiceError } from '../runtime/errors.ts';
import { MOST_ADAPTER_BYTES, readAdapterArchive, wholeAdapter } from './adapter-archive.ts';
import { AnyAnswer, PathAnswer, UrlsAnswer } from './answers.ts';
import type { Connection } from './connection.ts';
import { checkName, invalid } from './datum.ts';
import { TinkerError } from './errors.ts';
import { promotedAdapterUrls } from './fireworks-adapter.ts';
import type { NumberedRequests } from './numbered-requests.ts';
import type { DialectName, RemoteModel } from './training-server.ts';

type ModelFiles = Pick<RemoteModel, 'saveState' | 'loadState' | 'downloadAdapter'>;

/** Saved states and adapters of a model. */
export function createModelFiles(
  connection: Connection,
  requests: NumberedRequests,
  { dialect: name, baseModel }: { readonly dialect: DialectName; readonly baseModel: string },
): ModelFiles {
  const { dialect } = connection.settings;
  const { model: id, signal } = requests;
  /** Saves under a name. Only this model uses the name, so one that exists is the result of a lost answer. */
  const save = async (kind: string, name: string, folder: string): Promise<{ readonly path: string }> => {
    checkName(name);
    return requests.next(async (sequence) => {
      const body = { model_id: id, seq_id: sequence, path: name, type: kind };
      try {
        const options = { signal, isRepeatable: true, model: id, sequence };
        return connection.parse(PathAnswer, await connection.future(kind, body, options), kind);
      } catch (error) {
        if (!isServiceError(error) || error.code !== 'state_exists') throw error;
        return { path: `tinker://${id}/${folder}/${name}` };
      }
    });
  };

  /** The server needs the adapter no longer. One that stays costs disk there and does no other harm. */
  const removeAdapter = async (file: string): Promise<void> => {
    if (!dialect.capabilities.deletesStates) return;
    const place = `training_runs/${id}/checkpoints/sampler_weights/${file}`;
    const options = { signal, isRepeatable: true, isEmpty: true };
    await connection.call('DELETE', place, AnyAnswer, undefined, options).catch(() => {});
  };

  const downloadAdapter: RemoteModel['downloadAdapter'] = async (file) => {
    const options = { signal, model: id };
    const filesAt = async (urls: Readonly<Record<string, string>>) => {
      const files = new Map<string, Uint8Array>();
      for (const known of adapterFileNames.filter((wanted) => urls[wanted] !== undefined))
        files.set(known, (await connection.file(urls[known]!, MOST_ADAPTER_BYTES, options)).bytes);
      return wholeAdapter(files);
    };
    switch (dialect.adapter) {
      case 'none':
        throw TinkerError.NOT_ON_THIS_SERVER({
          dialect: name,
          what: 'the download of an adapter over HTTP',
        });
      case 'archive': {
        await save('save_weights_for_sampler', file, 'sampler_weights');
        const place = `training_runs/${id}/checkpoints/${file}/archive`;
        const { bytes } = await connection.file(place, MOST_ADAPTER_BYTES, options);
        const files = await readAdapterArchive(bytes);
        await removeAdapter(file);
        return files;
      }
      case 'external': {
        await save('save_weights_external', file, 'external_weights');
        const place = `training_runs/${id}/checkpoints/external_weights/${file}/external_weights_urls`;
        const { urls } = await connection.call('GET', place, UrlsAnswer, undefined, options);
        return filesAt(urls);
      }
      case 'promoted': {
        const { path } = await save('save_weights_for_sampler', file, 'sampler_weights');
        const { urls, remove } = await promotedAdapterUrls(connection, { path, baseModel }, options);
        return filesAt(urls).finally(remove);
      }
    }
  };
  return {
    saveState: (state) => save('save_weights', state, 'weights'),
    loadState: async (path) => {
      if (requests.hasBegun()) throw invalid('a state can only be loaded by the first request of a model');
      const body = { path, optimizer: true, type: 'load_weights' };
      await requests.post('load_weights', body, true).catch((error: unknown) => {
        const isMissing = isServiceError(error) && error.code === 'state_missing';
        throw isMissing ? TinkerError.STATE_MISSING({ path, detail: 'not found' }) : error;
      });
    },
    downloadAdapter,
  };
}
