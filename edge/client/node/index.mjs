import headgate from './index.js';

export const { Headgate, HeadgateStore } = headgate;
export default headgate.Headgate;
