import type { TrainingSettings } from '../../shared/events/training-settings.ts';

type TeacherSettings = Pick<TrainingSettings, 'method' | 'teacher'>;

/** The model that teaches, where it is neither a version of the policy nor its base, and is asked at all. */
export const ownTeacher = ({ method, teacher }: TeacherSettings): string | undefined =>
  method === 'binary' || teacher === 'current' || teacher === 'base' ? undefined : teacher;
